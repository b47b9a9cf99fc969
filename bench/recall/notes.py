"""Short notes, each with a question in other words: what a memory of few notes is asked."""

NOTES = (
    ("Prefers window seats on long flights", "where should I book her a place on the plane?"),
    ("Allergic to peanuts and shellfish", "is there anything he cannot eat?"),
    ("The spare key is under the blue flower pot", "how do I get in when nobody is home?"),
    ("Lives in Lisbon with two cats", "does she have any pets?"),
    ("Works night shifts at the hospital on Tuesdays", "when is he on duty?"),
    ("The Wi-Fi password of the studio is on the fridge", "how do guests get online?"),
    ("Her thesis is about the migration of storks", "what does she do research on?"),
    ("Takes the coffee without milk and sugar", "how does he like his espresso?"),
    ("The car goes to the garage every October", "when is the vehicle serviced?"),
    ("Dad's birthday is on the second of June", "when do we celebrate my father?"),
    ("The landlord wants the rent by the third of the month", "until when must we pay for the flat?"),
    ("Deploys only happen from the release branch", "which branch goes to production?"),
    ("The staging database is wiped every Sunday", "how long does test data stay?"),
    ("Prefers answers in bullet points", "how should I format a reply?"),
    ("Is learning Portuguese with a tutor", "which language does she study?"),
    ("Sold the motorbike and cycles to work now", "how does he commute?"),
    ("The dentist moved to Harbour Street 12", "where are her teeth looked after?"),
    ("Marta plays the cello in a quartet", "what instrument does Marta play?"),
    ("The budget for the kitchen is nine thousand euros", "how much may the renovation cost?"),
    ("Reads crime novels before going to sleep", "what kind of books does she like?"),
    ("Meetings before ten are declined automatically", "can I invite him for early morning?"),
    ("Our API keys rotate every ninety days", "how often do the credentials change?"),
    ("The cabin at the lake has no heating", "is it warm enough there in winter?"),
    ("Runs the half marathon in September", "which race does he train for?"),
)
ELSEWHERE = (
    "what is the boiling point of ethanol?", "who painted the ceiling of the chapel?",
    "how do I reset the thermostat of the oven?", "when does the next ferry to the island leave?",
    "what did the auditor say of the invoices?", "which chess opening did she choose?",
    "how tall is the tower of the town hall?", "where did they bury the time capsule?",
)  # fmt: skip
"""Questions that no note answers."""
NONSENSE = (
    "asdf qwer zxcv", "lorem ipsum dolor", "blargh fnord wibble", "xq zzt 9981 kk", "the of and with",
    "purple seventeen gently cabinet over", "????", "tic tac tuc",
)  # fmt: skip
IDLE = (
    "greetings", "good afternoon", "how do you do?", "cheers", "well done", "nope", "yeah", "cool, that works",
    "alright then", "welcome back", "sorry", "one moment please", "ping", "got it, thanks a lot", "let's start over",
    "are you a robot?", *NONSENSE,
)  # fmt: skip
"""What is said without asking anything."""
