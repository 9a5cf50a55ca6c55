"""Common English words. A gazetteer term that is one of them is often ambiguous."""

from __future__ import annotations

COMMON_WORDS = frozenset(
    """
    a about above after again against all also am an and any are area as ask at attack away back bad base be because
    been before being below best better between big black blue body book both break but by call came can care case
    cause change check child city clear close cold come could country course cut dark date day dead deal did
    different do does done door down drive during each early east end even ever every eye face fact fair fall family
    far fast father few field fight find fine fire first fit five food foot for force form four free friend from
    front full game general get girl give go gold good got great green ground group had half hand hard has have he
    head hear heart heat heavy help her here high him his hit hold home hot hour house how human i ice if in into is
    it its job just keep key kind know land large last late law lead least leave left less let letter life light
    like line list little live local long look lost lot love low made main make man many march mark may me mean men
    might mind mine minute miss money month more morning most mother mount move much must my name near need never
    new news next night no none nor north not note now of off office often old on once one only open or order other
    our out over own page pain paper part party pass past people period person place plan plant play point police
    poor power present press price public pull push put question quick quite race rain raise rate reach read real
    red rest result return right river road room rose round rule run safe said sale salt same saw say school sea
    second see seem sell send service set seven several shall she ship shock short should show side sign simple
    since single six size sleep slow small so some son soon sort sound south speed spring stage stand star start
    state stay step still stop story street stress stroke strong such sugar summer sun sure table take talk tell ten
    term test than that the their them then there these they thing think third this those three through time to
    today told too took top total toward town trade train tree trial true try turn two under union unit until up
    upon us use very view visit voice wait walk wall want war warm was watch water way we week well went were west
    what when where which while white who whole why wide wife will win wind winter with within without woman word
    work world would write year yes yet you young your
    """.split()  # noqa: SIM905 (a page of words reads better than a list of them)
)
