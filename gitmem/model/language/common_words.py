"""Common words of questions and replies, in eight languages, and their terms.

Words of other languages are listed only if they have no meaning in English: `die`, `war`,
`comment`, `del` and nearly all of two letters do.
"""

from __future__ import annotations

_ENGLISH = """
a about above actually after again against ago all almost already also although always am an and
another any anybody anyone anything anyway are aren around as ask at away back be because been
before being below between both but by bye can cannot cant come could couldn currently d did didn
do does doesn doing don done down during each either else ever every everybody everyone everything
few for from further get getting give go goes going good got great had hadn happen has hasn have
haven having he hello help her here hers herself hey hi him himself his how however i if in
instead into is isn it its itself just kind know let lets like likely ll look lot m many maybe me
mean might mine more most much must my myself need neither never no nobody none nor not nothing
now of off oh ok okay on once one only onto or other others ought our ours ourselves out over own
perhaps please quite rather re really right s said same say see shall she should shouldn show
since so some somebody someone something sorry still such sure t take tell than thank thanks that
the their theirs them themselves then there these they thing things think this those though
through thus till to today together too under until up upon us ve very via want was wasn way we
well were weren what whatever when where whether which while who whoever whole whom whose why will
with within without won would wouldn yeah yes yet you your yours yourself yourselves
"""
_ELSEWHERE = """
abbiamo aber adesso agli ainda algo algunos alla alle alles allo alors als anche ancora antes após
aquí assez así até auch aucun auf aunque aus aussi autre aux avais avait avant avec avere aveva
avez avoir avons aún beaucoup bei beim bekomme bien bis bist bitte cada casi cela celle celui ces
cet cette ceux chaque che chez chi combien comme como contre cosa così cual cuando cui cuál cuándo
cuánto cuántos cómo dabei dai dalla dalle damit danach dann dans daran darauf das dass degli dei
dein deine dele della delle dello dem den denn depois depuis der deren desde deshalb después dich
diese diesem diesen dieser dieses doch doit donc donde dont dort dove durante durch dónde dürfen
ein eine einem einen einer eines elas ele eles ellas elles ellos encore entre eran eres esa esas
ese eso esos essa esse essere esta estaba estar estas este esto estos estoy está están estão etwas
euch euer eux faire fais faut foi fosse fra fue fueron für fürs geben gewesen gibt ging gli habe
haben había hace hacer hacia hai hanno hast hasta hatte heute hier hätte ich ici ihm ihn ihnen ihr
ihre ils immer isso ist isto ja jede jeden jeder jedes jetzt jusque kann kannst kein keine keinen
können könnte könnten las les leur leurs lhe loro los lui là machen machst macht mais mas mehr
mein meine meinen mejor mesmo meu meus mich mientras minha moi moins molto mucho muchos muito muss
musst muy más möchte müssen nach nada nas nei nein nel nella nelle nem nicht nichts nie ninguno
noch noi nos nosotros nossa nosso nostra notre nous nuestra nuestro numa nun nunca nur não ob oder
ogni ohne onde otra otro otros oui où parce pas pela pelo perché pero però peut peux più poco
podemos poi por porque pourquoi pouvez puede puedes pues puis puoi può qual quale quali quand
quanto que quel quella quelle quelles quello quelque quels quem questa queste questi questo qui
quien quienes quiero quién quoi qué sabes según sehr sein seine seit sem senza será ses seu seus
siamo sich sido sie siempre sind sobre sogar soll sollen sollte sollten sommes somos sondern sono
sont sous sowie soy sta sto sua suas suis sul sulla suo suoi sus são sólo también tanto tenemos
tener tengo tenho tiene tienen toda todas todo todos toi tous tout toute toutes tra très tua tuo
tus tutti tutto têm una und une uno unos uns unser unsere unter usted vas veux você vocês voi
voici vom von vont vor vos votre vou vous vuoi wann warum weil welche welchem welchen welcher
welches wem wen wenn wer werde werden wie wieder wir wird wirst wo wohin wozu wurde wurden wäre
würde zu zum zur zwar zwischen étaient était été être über
"""
STOP_WORDS = frozenset((*_ENGLISH.split(), *_ELSEWHERE.split()))
"""Words that a question is made of, in English, German, French, Spanish, Portuguese and Italian."""
_REPLIES = """
accept add agree ahead alright amaze apply approve awesome begin best better bit brilliant bring
call carry change check clean clear close complete continue cool correct create delete easy edit
end enough error exact excellent explain fail fair feel few fine finish first fix follow forward
full funny glad haha happy help hold idea interesting issue job keep last late leave lgtm list
little long love lovely luck make manage merge mind minute moment morning move new next nice night
nope note number open option part pass pause perfect pick pleasure point possible prefer problem
proceed push put question quick read ready remove repeat reply report rest result resume retry
revert run save second seem send sense set short shorter simple skip small solve soon sound start
stay step stop submit suggest summarise summarize super support suppose switch talk task third
time tomorrow tonight true try turn understand undo update use useful verify wait weird welcome
wonder wonderful word work worry worse worth wow write wrong yep yesterday yup
"""
_REPLIES_ELSEWHERE = """
abend adelante anders aspetta attends avanti bene bonjour bonsoir bueno buenos buongiorno certo
ciao claro continua continúa danke dankeschön désolé días einmal espera espere falsch fertig geht
gemacht genau gracias grazie gut gute guten hallo hola klar kurz lass läuft mach mache mal meinst
merci morgen nochmal obrigada obrigado olá parfait passt perfecto perfetto prego prima probier
refais reicht richtig salut sigue stimmt tschüss vale versuch vez warte weiter zeig zeige
"""
REPLIES = (*_REPLIES.split(), *_REPLIES_ELSEWHERE.split())
"""More words of replies and commands."""
PARTICLES = frozenset("的了吗呢吧啊呀嘛么什怎哪谁您你我他她它们这那是在也很をはがのに")
"""Function characters of Chinese and Japanese: a pair with one of them is at most half a word."""
HIRAGANA = frozenset(map(chr, range(0x3041, 0x3097)))
"""Japanese endings: a word of these alone rarely has a topic."""
_PAIRS = """
一下 一次 一步 一遍 上好 下一 不对 不错 几点 再试 再说 可以 告诉 多久 多少 多长 大概 好好 如何
帮我 应该 收到 新来 早上 时候 明白 没问 知道 算了 等一 继续 试一 说一 请问 谢谢 辛苦 重新 问题
需要 お願 願い 教え 書い 続け 違い 思い 次に 進ん 一度 大丈 丈夫 何で
"""
ASKING = frozenset(_PAIRS.split())
"""Common pairs of questions and replies in those languages."""


_TERMS = """
a abbiamo abend aber about abov accept actual add adelant adesso after again against agli ago agre
ahead ainda al algo alguno all alla allo almost alor alreadi alright also although alway am amaz
an anch ancora and ander ani anoth ant anybodi anyon anyth anyway appli approv após aquí ar aren
around as ask aspetta assez así at attend até au auch aucun auf aunqu aussi autr aux avai avait
avant avanti avec aver aveva avez avoir avon away awesom aún back be beaucoup becaus been befor
begin bei beim bekomm below bene best better between bi bien bist bite bitt bonjour bonsoir both
brilliant bring bueno buongiorno but by bye cada call can cannot cant carri casi ce cela cell
celui certo cet cett ceux chang chaqu che check chez chi ciao claro clean clear close combien come
comm como complet continu continua continúa contr cool correct cosa così could couldn creat cual
cuando cui current cuál cuándo cuánto cuántos cómo d da dabei dai dall dalla damit dan danach dank
dankeschön dann daran darauf dass degli dei dein dele delet dell della dello dem den denn depoi
depui der deren desd deshalb después dich didn dies diesem diesen dieser do doch doesn doit don
donc dond dont dort dove down durant durch dure désolé días dónde dürfen each easi edit ein einem
einen einer einmal either el ela ell ella ello els encor end enough entr er eran error es esa eso
esper espera ess essa esser est esta estaba estar esto estoy está están estão etwa euch euer eux
ever everi everybodi everyon everyth exact excel explain fai fail fair falsch faut feel fertig few
fine finish first fix foi follow for forward foss fra from fue fueron full funni further für fürs
geben geht gemacht genau get gewesen gibt ging give glad gli go good gracia grazi great gut gute
guten ha habe haben había hace hacer hacia had hadn haha hai hallo hanno happen happi hasn hast
hasta hatt have haven he hello help her here herself heut hey hi hier him himself hola hold how
howev hätte i ich ici idea if ihm ihn ihnen ihr il immer in instead interest into is isn isso issu
ist isto it itself ja jede jeden jeder jetzt job jusqu just kann kannst keep kein keinen kind klar
know kurz können könnte könnten la lass last late le leav let leur lgtm lhe like list littl ll lo
long look loro lot love luck lui là läuft m ma mach machen machst macht mai make mal manag mani
mayb me mean mehr mein meinen meinst mejor merci merg mesmo meu mich mientra might mind mine minha
minut moi moin molto moment more morgen morn most move much mucho muito muss musst must muy my
myself más möchte müssen na nach nada need nei nein neither nel nell nella nem never new next nice
nicht nie night ninguno no nobodi noch nochmal noi none nope nor nosotro nossa nosso nostra not
note noth notr nou now nuestra nuestro numa number nun nunca nur não ob obrigada obrigado oder of
off ogni oh ohn ok okay olá on onc ond onli onto open option or other otra otro ought oui our
ourselv out over own où pa parc parfait part pass passt paus pela pelo perché perfect perfecto
perfetto perhap pero però peut peux pick più pleas pleasur poco podemo poi point por porqu possibl
pourquoi pouvez prefer prego prima probier problem proce pue pued pui puoi push put può qual quali
quand quanto que quel quell quella quello quelqu quem quest questa questi question questo qui
quick quien quiero quit quién quoi qué rather re read readi realli refai reicht remov repeat repli
report rest result resum retri revert richtig right run s sabe salut same save say se second see
seem según sehr sein seit sem send sens senza será set seu shall she short shorter should shouldn
show siamo sich sido sie siempr sigu simpl sinc sind skip small so sobr sogar soll sollen sollt
sollten solv some somebodi someon someth somm somo sondern sono sont soon sorri sou sound sowi soy
sta start stay step still stimmt sto stop su sua submit such suggest sui sul sulla summar summaris
suo suoi super support suppos sure switch são sólo t take talk también tanto task tell tenemo
tener tengo tenho than thank that the their them themselv then there these they thi thing think
third those though through thu tien tienen till time to toda today todo togeth toi tomorrow
tonight too tou tout tra tri true très tschüss tu tua tuo turn tutti tutto têm un una und under
understand undo uno unser unter until up updat upon us use ust va vale ve veri verifi versuch veux
vez via vo você vocês voi voici vom von vont vor votr vou vuoi wa wait wann want wart warum wasn
way we weil weird weiter welch welchem welchen welcher welcom well wem wen wenn wer werd werden
were weren what whatev when where whether whi which while who whoever whole whom whose wie wieder
will win wir wird wirst with within without wo wohin wonder word work worri wors worth would
wouldn wow wozu write wrong wurd wurden wäre würde ye yeah yep yesterday yet you your yourself
yourselv yup zeig zu zum zur zwar zwischen étaient était été être über
"""
IDLE_TERMS = frozenset(_TERMS.split())
