# ruff: noqa: E501
"""What the tables know of life events: who tells one of themselves, what it touches, and who asks for what is so since."""

import pytest

from memorist.languages import CODES, language, plain, tables_of
from memorist.languages.table import LIFE_CHANGES

NAMES = LIFE_CHANGES

TOLD: dict[str, tuple[str, str, str, str, str]] = {
    "en": ("I finally got the keys to my new flat", "I've handed in my notice at the clinic", "I sold the van last week", "Tom and I broke up", "Our dog died on Sunday"),
    "de": ("Wir sind letzte Woche nach Leipzig umgezogen", "Ich habe gestern meine Stelle gekündigt", "Ich habe das Auto verkauft", "Jonas und ich haben uns getrennt", "Unser Kater ist am Sonntag gestorben"),
    "fr": ("On a déménagé à Nantes en mars", "J'ai démissionné la semaine dernière", "J'ai vendu ma voiture à un collègue", "Paul et moi, on s'est séparés", "Notre chien est mort dimanche"),
    "es": ("Nos mudamos a Valencia en marzo", "Renuncié la semana pasada, mi jefe se enfadó", "Vendí el coche a un vecino", "Pablo y yo rompimos en mayo", "Mi perra murió el domingo"),
    "pt": ("Eu me mudei para o Porto em março", "Pedi demissão na semana passada", "Vendi o carro para um colega", "Paulo e eu nos separamos em maio", "Nosso cachorro morreu no domingo"),
    "it": ("Ci siamo trasferiti a Bologna a marzo", "Mi sono licenziata la settimana scorsa", "Ho venduto la macchina a un collega", "Io e Marco ci siamo lasciati", "Il nostro cane è morto domenica"),
    "nl": ("We zijn in maart naar Utrecht verhuisd", "Ik heb vorige week mijn baan opgezegd", "Ik heb de auto aan een collega verkocht", "Joris en ik zijn uit elkaar", "Onze hond is zondag overleden"),
}  # fmt: skip
"""In the order of NAMES."""

ALSO_TOLD: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "a move": (
            "We finally moved in on Saturday", "I've left London for good", "Signed the lease on the place in Oakland",
            "I'm settling into the new apartment", "First night in the new house", "I moved back in with my mum", "We are moving to Austin on Friday",
            "My new address is 5 Hill Road", "I now live in Oslo", "I've found a room in a shared house",
            "Moved to Leipzig last week", "Got the keys to 41 Victoria Avenue", "Finally signed the lease, third floor",
        ),
        "a new job": (
            "I start at Siemens on Monday", "Put in my two weeks today, I quit my job", "I'm freelance now", "I accepted an offer from Stripe",
            "Last day at the hospital today", "I'm working at Google now", "I joined Spotify as a designer", "I got laid off on Friday",
            "I start as a sous-chef on Monday", "I'm the new manager at the bookshop", "I've retired!",
            "Quit my job at Siemens", "Started at Bosch on Monday", "Got promoted!", "Landed the job at the eye clinic",
        ),
        "another vehicle": (
            "I sold my car", "We traded in the Subaru for a van", "My car got totaled last week",
        ),
        "the loss of a pet": (
            "Our cat passed away", "We had to put Rex down", "I lost my dog in March",
        ),
    },
    "de": {
        "a move": (
            "Wir sind endlich eingezogen", "Ich wohne jetzt in Köln", "Meine neue Adresse ist Lindenweg 5",
            "Gestern haben wir die Schlüssel bekommen", "Ich habe eine Wohnung in Ehrenfeld gefunden", "Am Samstag ziehen wir um",
            "Seit März wohne ich bei meiner Mutter", "Erste Nacht in der neuen Wohnung", "Wir haben ein Haus gekauft",
            "Ich bin von Hamburg weggezogen",
        ),
        "a new job": (
            "Ich fange am Montag bei Siemens an", "Heute war mein erster Tag in der Bäckerei", "Ich habe den Job bekommen", "Mir wurde gekündigt",
            "Ich bin jetzt selbstständig", "Ich habe bei Bosch unterschrieben", "Ich arbeite jetzt im Krankenhaus",
            "Ich wurde zur Teamleiterin befördert", "Seit Mai bin ich bei der Post", "Ich bin in Rente",
        ),
    },
    "fr": {
        "a move": (
            "On a enfin emménagé samedi", "J'habite maintenant à Lyon", "Ma nouvelle adresse est 5 rue des Lilas", "On a eu les clés hier",
            "J'ai trouvé un appart à Nantes", "On déménage samedi", "Je suis retournée vivre chez ma mère", "Première nuit dans le nouvel appart",
            "On a acheté une maison", "J'ai quitté Paris pour de bon",
        ),
        "a new job": (
            "Je commence lundi chez Airbus", "C'était mon premier jour à la boulangerie", "J'ai eu le poste", "J'ai été licencié",
            "Je suis à mon compte maintenant", "J'ai signé chez Renault", "Je travaille maintenant à l'hôpital", "J'ai été promue cheffe d'équipe",
            "Depuis mai je suis à la poste", "Je suis à la retraite",
        ),
    },
    "es": {
        "a move": (
            "Por fin nos mudamos el sábado", "Ahora vivo en Sevilla", "Mi nueva dirección es calle Luna 5", "Nos dieron las llaves ayer",
            "Encontré piso en Triana", "Nos mudamos en junio", "He vuelto a vivir con mi madre", "Primera noche en el piso nuevo",
            "Hemos comprado una casa", "Me fui de Madrid para siempre",
        ),
        "a new job": (
            "Empiezo el lunes en Siemens", "Hoy fue mi primer día en la panadería", "Me dieron el trabajo", "Me han despedido", "Ahora soy autónoma",
            "He firmado con Repsol", "Ahora trabajo en el hospital", "Me ascendieron a jefa de equipo", "Desde mayo estoy en Correos",
            "Ya estoy jubilada",
        ),
    },
    "pt": {
        "a move": (
            "Finalmente nos mudamos no sábado", "Agora moro em Recife", "Meu novo endereço é rua da Lua 5", "Pegamos as chaves ontem",
            "Achei um apartamento em Olinda", "Voltei a morar com minha mãe", "Compramos uma casa", "Eu me mudei para Lisboa",
        ),
        "a new job": (
            "Começo segunda na Siemens", "Hoje foi meu primeiro dia na padaria", "Consegui o emprego", "Fui demitida", "Agora sou autônoma",
            "Agora trabalho no hospital", "Fui promovida a gerente", "Estou aposentada",
        ),
    },
    "it": {
        "a move": (
            "Finalmente ci siamo trasferiti sabato", "Adesso abito a Torino", "Il mio nuovo indirizzo è via Luna 5", "Ieri abbiamo preso le chiavi",
            "Ho trovato casa a Monza", "Sono tornata a vivere con mia madre", "Abbiamo comprato casa", "Prima notte nella casa nuova",
        ),
        "a new job": (
            "Comincio lunedì alla Fiat", "Oggi era il mio primo giorno in panetteria", "Ho avuto il posto", "Mi hanno licenziata",
            "Adesso lavoro in ospedale", "Sono stata promossa", "Sono in pensione", "Mi sono messa in proprio",
        ),
    },
    "nl": {
        "a move": (
            "We zijn eindelijk verhuisd", "Ik woon nu in Gouda", "Mijn nieuwe adres is Maanweg 5", "Gisteren hebben we de sleutels gekregen",
            "Ik heb een appartement in Delft gevonden", "Ik woon weer bij mijn moeder", "We hebben een huis gekocht",
            "Eerste nacht in het nieuwe huis",
        ),
        "a new job": (
            "Ik begin maandag bij Siemens", "Vandaag was mijn eerste dag bij de bakker", "Ik heb de baan gekregen", "Ik ben ontslagen",
            "Ik werk nu in het ziekenhuis", "Ik ben nu zzp'er", "Ik heb getekend bij Philips", "Ik ben met pensioen",
        ),
    },
}  # fmt: skip
"""More ways to say it."""

TOUCHED: dict[str, tuple[str, str]] = {
    "en": ("My commute takes twenty minutes", "My boss wants me in by eight"),
    "de": ("Zur Arbeit brauche ich zwanzig Minuten mit dem Rad", "Mein Chef will, dass ich um acht da bin"),
    "fr": ("Je mets vingt minutes à vélo depuis chez moi", "Ma cheffe veut que je sois là à huit heures"),
    "es": ("Mi casa está a diez minutos andando del mercado", "Mi jefa quiere que llegue a las ocho"),
    "pt": ("Minha casa fica a dez minutos a pé do mercado", "Meu chefe quer que eu chegue às oito"),
    "it": ("Da casa mia al mercato sono dieci minuti a piedi", "Il mio capo mi vuole in ufficio alle otto"),
    "nl": ("Ik ben in tien minuten op de fiets bij de markt", "Mijn baas wil me om acht uur zien"),
}
"""By a move, and by a new job."""

OTHERWISE: dict[str, tuple[str, ...]] = {
    "en": ("Moved to Friday, the room is taken", "Moved to the next chapter", "I almost quit my job", "We never signed the lease", "Started at seven, done by ten", "We moved the meeting to Friday", "My brother moved to Leeds", "I quit smoking in May", "I might look for a new flat", "I started at six and left the office for good coffee", "I started as a child", "My new office chair creaks", "I'm working on it for now", "I sold the bike lights"),
    "de": ("Wir haben den Termin auf Freitag verschoben", "Mein Bruder ist nach Kiel umgezogen", "Ich habe das Abo für die Zeitschrift verlängert", "Ich würde gern mal umziehen", "Ich habe den Handyvertrag gekündigt", "Wir haben den Müll getrennt", "Das Auto meines Bruders wurde gestohlen", "Ich fange wieder bei null an"),
    "fr": ("On a déplacé la réunion à vendredi", "Mon frère a déménagé à Lille", "J'ai arrêté de fumer en mai", "J'aimerais déménager un jour", "On a vendu la maison de mes parents"),
    "es": ("Movimos la reunión al viernes", "Mi hermano se mudó a Bilbao", "Dejé de fumar en mayo", "Me gustaría mudarme algún día", "Ana y yo terminamos el puzle", "Empiezo en la universidad en otoño"),
    "pt": ("Adiamos a reunião para sexta", "Meu irmão mora em Braga", "Parei de fumar em maio", "Eu queria viajar mais", "Terminei com o livro ontem", "Ela mudou para o plano novo"),
    "it": ("Abbiamo spostato la riunione a venerdì", "Mio fratello si è trasferito a Torino", "Ho smesso di fumare a maggio", "Vorrei trasferirmi un giorno", "Ho lasciato le chiavi in macchina", "Comincio al mattino presto"),
    "nl": ("We hebben de vergadering naar vrijdag verzet", "Mijn broer is naar Gent verhuisd", "Ik ben in mei gestopt met roken", "Ik zou graag eens verhuizen", "We haalden de kast uit elkaar", "Ik begin bij het begin"),
}  # fmt: skip
"""What tells no change of the speaker's own life."""


@pytest.mark.parametrize("code", TOLD)
@pytest.mark.parametrize("name", NAMES)
def test_a_change_is_told_and_found_by_its_words(code: str, name: str) -> None:
    text, table = TOLD[code][NAMES.index(name)], language(code)
    assert table.changes("told", plain(text)) == [name] and table in tables_of(text)
    assert set(table.life_changes[name].words.split()) & set(plain(text).split())


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [(code, name, text) for code, known in ALSO_TOLD.items() for name, texts in known.items() for text in texts],
)
def test_a_change_is_told_in_many_ways(code: str, name: str, text: str) -> None:
    assert language(code).changes("told", plain(text)) == [name]


@pytest.mark.parametrize("code", TOUCHED)
@pytest.mark.parametrize("name", NAMES[:2])
def test_what_somebody_says_of_themselves_is_touched(code: str, name: str) -> None:
    text, table = TOUCHED[code][NAMES.index(name)], language(code)
    assert table.life_changes[name].touches.search(plain(text)) and table.says("first_person", plain(text))


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in OTHERWISE.items() for text in texts])
def test_other_things_are_no_changes_of_a_life(code: str, text: str) -> None:
    assert language(code).changes("told", plain(text)) == []


def test_each_table_that_knows_changes_knows_the_same_and_has_its_examples() -> None:
    known = {code: tuple(language(code).life_changes) for code in CODES}
    assert {code: names for code, names in known.items() if names} == dict.fromkeys(TOLD, NAMES)
    assert TOLD.keys() == TOUCHED.keys() == OTHERWISE.keys()


ASKED: dict[str, tuple[str, str, str, str, str]] = {
    "en": ("Which part of town do we live in?", "Where am I employed at present?", "What kind of van do I drive now?", "Who am I seeing these days?", "Do we have any pets?"),
    "de": ("In welcher Stadt wohne ich?", "Bei welcher Firma arbeite ich?", "Was für ein Auto fahre ich?", "Bin ich noch verheiratet?", "Haben wir noch einen Hund?"),
    "fr": ("Où est-ce que j'habite ?", "Pour quelle entreprise je travaille ?", "Quelle voiture j'ai ?", "Est-ce que je suis célibataire ?", "Comment s'appelle mon chien ?"),
    "es": ("¿En qué barrio vivo ahora?", "¿Para quién trabajo?", "¿Qué coche tengo?", "¿Con quién estoy saliendo?", "¿Tengo mascotas?"),
    "pt": ("Onde é que eu moro?", "Onde eu trabalho agora?", "Que carro eu tenho?", "Estou solteira?", "Quantos gatos temos?"),
    "it": ("Dove abito adesso?", "Che lavoro faccio?", "Quale macchina guido?", "Con chi sto?", "Quanti gatti abbiamo?"),
    "nl": ("Waar wonen we nu?", "Bij welk bedrijf werk ik?", "Welke auto rijd ik?", "Ben ik nog getrouwd?", "Hoe heet onze hond?"),
}  # fmt: skip
NOT_ASKED: dict[str, tuple[str, ...]] = {
    "en": ("Where does my brother live?", "How is my house kept warm?", "When is my wife's birthday?", "What does my dog eat?", "How long does it take me to get to work?", "When did I move?", "Which car did I wash first?"),
    "de": ("Wo wohnt mein Bruder?", "Wann hat meine Frau Geburtstag?", "Was frisst mein Hund?", "Wann bin ich umgezogen?"),
    "fr": ("Où habite mon frère ?", "Dans quelle ville travaille ma sœur ?", "Quand est l'anniversaire de ma femme ?", "Que mange mon chien ?"),
    "es": ("¿Dónde vive mi hermano?", "¿Dónde vivía mi abuela?", "¿Cuándo es el cumpleaños de mi mujer?", "¿Qué come mi perro?"),
    "pt": ("Onde o meu irmão mora?", "Onde mora minha avó?", "Quando é o aniversário da minha esposa?", "O que o meu cachorro come?"),
    "it": ("Dove abita mio fratello?", "Dove abitava mia nonna?", "Quando è il compleanno di mia moglie?", "Cosa mangia il mio cane?"),
    "nl": ("Waar woont mijn broer?", "Wanneer is mijn vrouw jarig?", "Wat eet mijn hond?"),
}  # fmt: skip


@pytest.mark.parametrize("code", TOLD)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_so_since_a_change_is_asked_for(code: str, name: str) -> None:
    text, table = ASKED[code][NAMES.index(name)], language(code)
    assert table.changes("asked", plain(text)) == [name] and table in tables_of(text)


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in NOT_ASKED.items() for text in texts])
def test_what_others_do_and_what_a_change_leaves_is_not_asked_for_since_one(code: str, text: str) -> None:
    assert language(code).changes("asked", plain(text)) == []
