"""The terms of common words and replies: what a prompt may be made of and be about nothing.

Made from `common_words` by `stem`, and written down because making them took 13,000 of the 18,000
calls of a prompt. A test compares, and shows what has to stand here.
"""

from __future__ import annotations

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
