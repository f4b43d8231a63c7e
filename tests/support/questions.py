"""A memory, a conversation, and questions about both: by hand, in the words of a small team.

Questions use other words than the answers where people would; each names what holds its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Asked(NamedTuple):
    """A question, and the notes or messages of which one at least answers it."""

    text: str
    answers: tuple[str, ...]


NOTES: Mapping[str, str] = {
    "esm": "The billing service uses ES modules only. The bundler we moved to in spring cannot "
    "handle CommonJS, and mixing both broke the source maps.",
    "friday": "Never deploy on Fridays. In May a release on a Friday evening took invoicing down "
    "for the whole weekend and nobody was on call.",
    "postgres": "Invoices live in Postgres, not in MySQL: we need JSON columns, partial indexes "
    "and locks that do not block readers.",
    "pnpm": "The monorepo is installed with pnpm. Running npm install creates a second lock file "
    "and breaks the workspace links.",
    "retention": "Logs are kept for ninety days and then deleted, because the data protection "
    "officer asked for it after the audit.",
    "oncall": "Whoever is on call carries the red phone from Monday nine o'clock until the next "
    "Monday. Handover happens in the stand-up.",
    "ada": "Ada prefers short answers without greetings. She reads everything on her telephone "
    "while commuting to Leipzig.",
    "bob": "Bob is allergic to nuts. Order the vegetarian menu for him when the team eats out.",
    "staging": "The staging cluster is rebuilt every night at two. Anything placed there by hand "
    "is gone the next morning.",
    "colour": "The brand colour is petrol, hex 005f6b. Marketing does not accept the old green in "
    "anything customers can see.",
    "tests": "Integration tests need a local Redis on port 6380. Start it with make redis before "
    "running the suite, or half of them time out.",
    "review": "Two people review each change to the payment module; for everything else one is "
    "enough. Carla decides when the two disagree.",
    "api": "The public interface is versioned in the path: /v2/orders. Version one is switched off "
    "at the end of March and answers with 410 afterwards.",
    "cache": "Product images are cached for a day by the edge. After replacing one, purge it by "
    "its tag, not by its address.",
    "timezone": "All timestamps are stored in UTC and shown in the zone of the shop. The reports "
    "of the Lisbon shop were an hour off until we did that.",
    "flags": "Feature flags older than a quarter are removed. Dora walks through the list on the "
    "first Tuesday of each month.",
    "backup": "Backups of the database run at four in the morning to the bucket in Frankfurt. A "
    "restore is rehearsed twice a year, last in October.",
    "search": "Customer search runs on its own machine with 64 gigabytes, because rebuilding its "
    "index starved the checkout of memory.",
    "style": "We write British English in the interface and American English in code and comments.",
    "hiring": "Candidates get a take-home exercise of at most three hours. We pay for it, whatever "
    "comes of the application.",
    "vpn": "The office network in Porto can only reach production through the bastion host. Keys "
    "for it are handed out by Emil.",
    "queue": "Mails leave through a queue that retries for six hours with growing pauses. After "
    "that they go to the dead letter table and someone has to look.",
    "rounding": "Amounts are integers of cents everywhere. Discounts are rounded half to even, as "
    "the tax adviser wants it.",
    "mobile": "The application for telephones supports the last two major versions of each system "
    "and nothing older.",
    "meeting": "The weekly planning takes place on Wednesday at ten and never longer than forty "
    "minutes. Whoever comes late brings cake.",
    "licence": "Libraries under the GPL may not be linked into the desktop client. MIT, BSD and "
    "Apache are fine.",
    "graph": "Dashboards are built in Grafana from the metrics store; nobody edits them by hand "
    "any more, they are generated from the repository.",
    "shipping": "Parcels to Norway need a customs form that our carrier does not print. The "
    "warehouse fills it in by hand.",
    "cat": "The office cat is called Turing and is fed by whoever arrives first.",
    "rust": "The image converter was rewritten in Rust in January and uses a tenth of the memory "
    "it used before.",
}

SAID: Sequence[tuple[str, str, str]] = (
    (
        "m1",
        "Ada",
        (
            "Morning! I bought the tickets for the conference in Vienna, we leave on the "
            "ninth of June."
        ),
    ),
    ("m2", "Bob", "Great. Did you get seats together?"),
    ("m3", "Ada", "Yes, row fourteen, and I took the window for you because of your knee."),
    ("m4", "Carla", "Who looks after the release while you two are away?"),
    ("m5", "Bob", "Emil said he would. He has done it before, last autumn."),
    ("m6", "Emil", "True, but somebody has to show me the new signing step first."),
    ("m7", "Carla", "I can do that on Thursday after lunch."),
    ("m8", "Ada", "By the way, the coffee machine is broken again, it leaks from below."),
    (
        "m9",
        "Dora",
        (
            "The technician comes on Monday. Until then there is the old one in the "
            "kitchen of the third floor."
        ),
    ),
    ("m10", "Bob", "My sister had her baby last night, a girl, they named her Milena."),
    ("m11", "Ada", "Congratulations! Then you will be away on Tuesday?"),
    ("m12", "Bob", "Only in the afternoon, I drive to Graz and come back the same evening."),
    (
        "m13",
        "Carla",
        "The customer from Bergen wrote again, their invoice lacks the purchase order number.",
    ),
    (
        "m14",
        "Emil",
        (
            "That field gets lost when they use the import. I found the cause, it is the "
            "header with the umlaut."
        ),
    ),
    ("m15", "Carla", "Can you send them a corrected one today?"),
    ("m16", "Emil", "Sent it ten minutes ago."),
    (
        "m17",
        "Dora",
        "I am thinking about learning to play the cello. Has anyone a teacher they like?",
    ),
    ("m18", "Ada", "My neighbour teaches, she is patient and lives near the canal."),
    ("m19", "Dora", "Perfect, please give me her number."),
    (
        "m20",
        "Bob",
        (
            "The contractor wants nine hundred a day for the accessibility audit. I think "
            "that is too much."
        ),
    ),
    ("m21", "Carla", "We paid seven hundred and fifty last year, offer him eight."),
    ("m22", "Bob", "He accepted, and starts on the twentieth."),
    (
        "m23",
        "Emil",
        "The heating in the server room failed during the night, it went up to thirty one degrees.",
    ),
    ("m24", "Ada", "Heating or cooling?"),
    ("m25", "Emil", "Cooling, sorry. One disk reports errors since then, I ordered a replacement."),
    ("m26", "Dora", "Shall we move the summer party to the lake this time?"),
    ("m27", "Carla", "Yes, please, last year's roof terrace was far too hot."),
    ("m28", "Bob", "I can lend my canoe, it takes three people."),
    ("m29", "Ada", "Then I bring the grill and the aubergines."),
    ("m30", "Dora", "Settled: Saturday the fifth of July, three o'clock."),
    ("m31", "Emil", "I moved my desk to the second floor, next to the printer."),
    ("m32", "Carla", "Our insurance wants a list of all laptops with serial numbers until Friday."),
    ("m33", "Emil", "I have that in a sheet, only the two new ones are missing."),
    (
        "m34",
        "Ada",
        "I read a wonderful book about the history of maps, you can have it when I am done.",
    ),
    ("m35", "Bob", "I would love that. My grandfather drew maps for the railway."),
    ("m36", "Carla", "The bank changed its interface, direct debits fail since this morning."),
    ("m37", "Emil", "They want the mandate date in another form now. Fix is on its way."),
    ("m38", "Dora", "I quit smoking three weeks ago, in case I am grumpy."),
    ("m39", "Ada", "Bravo! I am proud of you."),
    ("m40", "Bob", "The new intern is called Farid, he starts in September and studies physics."),
)

ABOUT_NOTES: Sequence[Asked] = (
    Asked("Which module format does billing use?", ("esm",)),
    Asked("Can we release tomorrow? It is Friday.", ("friday",)),
    Asked("What database did we choose for the invoices?", ("postgres",)),
    Asked("How do I install the dependencies of the monorepo?", ("pnpm",)),
    Asked("How long do we keep logs?", ("retention",)),
    Asked("When does the person on call change?", ("oncall",)),
    Asked("What should I know before answering Ada?", ("ada",)),
    Asked("I am booking a restaurant for the team, does anybody have an allergy?", ("bob",)),
    Asked("Why has my file on staging vanished?", ("staging",)),
    Asked("Which colour may I use for the button?", ("colour",)),
    Asked("The integration tests time out on my machine.", ("tests",)),
    Asked("How many reviewers does a change in payment need?", ("review",)),
    Asked("Until when does version one of the API work?", ("api",)),
    Asked("I replaced a product image and customers still see the old one.", ("cache",)),
    Asked("In which time zone do we store dates?", ("timezone",)),
    Asked("Who cleans up old feature flags?", ("flags",)),
    Asked("When did we last rehearse restoring a backup?", ("backup",)),
    Asked("Why does search have a machine of its own?", ("search",)),
    Asked("Do we write colour or color in the interface?", ("style", "colour")),
    Asked("Do applicants get paid for the exercise?", ("hiring",)),
    Asked("How do I reach production from Porto?", ("vpn",)),
    Asked("What happens to mails that cannot be delivered?", ("queue",)),
    Asked("How are discounts rounded?", ("rounding",)),
    Asked("Which versions of Android do we support in our application?", ("mobile",)),
    Asked("When is the planning meeting?", ("meeting",)),
    Asked("May I use a GPL library in the desktop client?", ("licence",)),
    Asked("I would like to edit a dashboard.", ("graph",)),
    Asked("A customer in Norway ordered something, what about customs?", ("shipping",)),
    Asked("What is the name of the cat?", ("cat",)),
    Asked("In which language is the image converter written?", ("rust",)),
)

ABOUT_SAID: Sequence[Asked] = (
    Asked("When do Ada and Bob travel to Vienna?", ("m1",)),
    Asked("Which seat did Bob get?", ("m3",)),
    Asked("Who will look after the release in June?", ("m4", "m5")),
    Asked("What does Emil have to learn before the release?", ("m6",)),
    Asked("What is wrong with the coffee machine?", ("m8",)),
    Asked("When will the technician come?", ("m9",)),
    Asked("What is the name of the baby of Bob's sister?", ("m10",)),
    Asked("Where did Bob drive?", ("m12",)),
    Asked("What did the customer from Bergen complain about?", ("m13",)),
    Asked("Why did the purchase order number get lost?", ("m14", "m13")),
    Asked("Which instrument does Dora want to learn?", ("m17",)),
    Asked("Who knows a cello teacher?", ("m18", "m17")),
    Asked("How much did the contractor ask for the audit?", ("m20",)),
    Asked("When does the contractor begin?", ("m22", "m20")),
    Asked("How hot did it get in the server room?", ("m23",)),
    Asked("Which part did Emil order for the server?", ("m25",)),
    Asked("Where does the summer party take place?", ("m26", "m27")),
    Asked("What will Ada bring to the party?", ("m29",)),
    Asked("On which date is the summer party?", ("m30", "m26")),
    Asked("Where does Emil sit now?", ("m31",)),
    Asked("What does the insurance want from us?", ("m32",)),
    Asked("What was Ada's book about?", ("m34",)),
    Asked("What did Bob's grandfather do?", ("m35",)),
    Asked("Why did direct debits fail?", ("m36", "m37")),
    Asked("What did Dora give up?", ("m38",)),
    Asked("What does the intern study?", ("m40",)),
)

ELSEWHERE: Sequence[str] = (
    "Write a haiku about the sea.",
    "hello",
    "Thanks, that was helpful!",
    "Explain how a binary search tree works.",
    "Translate this sentence into Spanish: the weather is lovely.",
    "What is the capital of Mongolia?",
    "Make me a shopping list for pancakes.",
    "Summarise the plot of Hamlet in three sentences.",
    "How tall is Mount Everest?",
    "Give me ten names for a golden retriever.",
    "Solve the equation 3x + 5 = 20.",
    "Can you draw an ASCII dinosaur?",
    "What is the difference between a crocodile and an alligator?",
    "Recommend three films about space travel.",
    "ok go on",
    "Continue.",
    "Refactor this function so that it is easier to read.",
    "Why is the sky blue?",
    "Generate a random password with sixteen characters.",
    "Which planet has the most moons?",
    "Write a limerick about a tired programmer.",
    "Convert 180 degrees Fahrenheit to Celsius.",
    "How do I knit a scarf?",
    "What rhymes with orange?",
    "Please fix the indentation in the snippet below.",
)

IDLE: Sequence[str] = (
    *("nice work", "What's new?", "Looks fine to me", "stop", "thanks, that works", "ok next step"),
    *("do the first one", "try again", "go ahead", "sounds good", "yes please", "perfect, thanks"),
    *("run it again", "use the second option", "make it shorter", "fix it", "what happened?"),
    *("why?", "continue", "that is wrong", "undo that", "save it", "looks good to me"),
    *("can you explain?", "what do you think?", "let's go", "good morning", "wait a minute"),
    *("are you sure?", "never mind", "push it", "merge it", "it does not work", "I like it"),
    *("next", "done", "keep going", "show me", "Yes", "OK, do it", "Thanks", "one moment"),
)
"""What people say while an agent is at work: however much memory holds, it is about none of it."""

FIRST: Sequence[str] = (
    "Could you first rename the variable in the loop and run the formatter?",
    "I have just pushed a small fix for the navigation bar, thanks for waiting.",
    "Let us go on where we stopped yesterday with the landing page.",
)
"""What people say before they come to the point."""

LONG_ABOUT_NOTES: Sequence[str] = (
    (
        "I am about to prepare the release of the new checkout page with the redesigned basket "
        "and would like to know whether I may deploy it this Friday evening or better wait until "
        "next week"
    ),
    (
        "Please set up the deployment pipeline for our billing service so that it goes live on "
        "Friday."
    ),
    (
        "I am writing the onboarding page for new colleagues and have to explain how they install "
        "all packages of the monorepo on a fresh laptop with pnpm or npm"
    ),
    (
        "We got a complaint from a customer who says that the picture of the blue chair is still "
        "the old one although marketing uploaded another image this morning and the cache should "
        "be empty"
    ),
    (
        "Before I book the table for our dinner on Thursday evening in the Italian place around "
        "the corner tell me if somebody of the team has an allergy or eats only vegetarian"
    ),
    (
        "Can you prepare the text of the job advert for the backend position and mention how our "
        "process with the take-home exercise works and what we pay"
    ),
)
"""Long sentences of which a note answers a part."""

LONG_ELSEWHERE: Sequence[str] = (
    (
        "Write a long and detailed essay on the causes and consequences of the French revolution "
        "for a school class of fourteen year old pupils who have never heard of it"
    ),
    (
        "Please plan a trip of two weeks through the south of Japan in autumn with good food, hot "
        "springs, little hiking and not more than three hotels"
    ),
    (
        "I would like to understand how neural networks learn from examples, what a gradient is "
        "and why the learning rate must not be too large at the beginning"
    ),
    (
        "Implement a function in Python that takes a list of intervals and merges those that "
        "overlap, with tests for empty input, one interval and many nested ones"
    ),
    (
        "Tell me the story of the first expedition to the south pole and explain why the one team "
        "survived and the other one did not come back"
    ),
    (
        "Compare the taste of five kinds of apples and tell me which of them is best for a cake "
        "with cinnamon and walnuts in winter"
    ),
)
"""Long sentences that no note has to do with."""
