// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/sentence_language.h>

namespace transmute {
inline namespace v0 {

// Lines of "language kind words…"; the language * means all of them. Kinds:
//   before   abbreviations that something always follows, such as titles
//   number   abbreviations before a number; elsewhere the same letters are a word
//   abbr     other abbreviations, which may be at the end of a sentence
//   ending   ends of compounds that are abbreviations, as in Hauptstr.
//   closing  abbreviations that close an enumeration, and often a sentence
//   start    frequent words that begin sentences; they also tell the language of a text
//   ordinals the full stop after a number makes it an ordinal (no words)
//   end      further characters that end a sentence
const char* const kSentenceWords = R"words(
* before dr prof mr mrs ms mme mlle mt st vs e.g i.e cf fig eq viz sig
* number no nr nº n° № p pp vol art par ch sec
* abbr jan feb mar apr jun jul aug sep sept oct okt nov dec dez co corp inc ltd jr sr ph.d a.m p.m bros dept est approx
* closing etc
en before rev hon gen col sgt capt cpl lt cmdr adm maj pvt gov sen rep pres supt messrs mx ft jas wm figs eqs ed eds lat long univ
en number nos vv ref refs sect sects vols chs tab tabs art ch sec chap app ver v fig pg op
en abbr ave blvd rd hwy bldg apt univ assn jan feb mar apr jun jul aug sept sep oct nov dec mon tue tues wed thu thur thurs fri u.s u.k u.n e.u u.s.a d.c b.c a.d sq oz lb lbs yd hr hrs min cm mm km kg ibid al esq plc llc mfg natl intl misc incl excl tel ext
en start the three four five six seven eight nine ten several a an this that these those he she it we they you i there here what when where who whom why how which is are was were do does did can could will would should has have had if as at in on of for from by with to and but or so not no yes then after before while since because although however my your his her its our their some many most all both each every one two nobody everybody please let once also maybe perhaps
de before med phil jur rer nat habil theol hr fr frl herrn dipl ing mag st hl dr.-ing priv.-doz gen z.b d.h u.a z.t u.u v.a i.d.r i.a i.v i.h.v z.zt z.z s.o s.u vgl bzw bspw ggf evtl inkl exkl ca sog insb insbes einschl gegr gest verst geb abs ziff kath evang ev jüd röm griech lat engl franz dt österr allg bes betr bez eigtl geg
de number nr s abs kap bd ziff tel art abb tab aufl jg hausnr pos anm rn
de abbr str pl mio mrd mill tsd std min sek gmbh jh jhd chr v.chr n.chr jan febr feb apr aug sept okt nov dez mo di mi fr so jr sen a.d a.m zzgl abzgl mwst max min mind
de closing usw usf u.ä o.ä
de start der drei vier fünf mehrere die das dem den des ein eine einer einem einen er sie es wir ihr ich du man dies diese dieser dieses jene jener hier da dort dann danach darauf daher deshalb dafür damit dabei doch aber und oder denn wenn weil als ob wie was wer wo wann warum welche welcher welches in im am an auf aus bei mit nach von vom vor zu zum zur seit für um über unter ist sind war waren hat haben wird werden kann können auch noch nur nicht kein keine nach alle viele einige mein meine sein seine unser unsere bitte zwei außerdem jedoch trotzdem
de ending str nr pl abt
de ordinals
fr before m mm mme mmes mlle mlles me mgr pr vve ste sté ets av boul bd c.-à-d p.ex env n.b
fr number n no nos p pp t vol chap art fig al éd
fr abbr janv févr avr juil sept oct nov déc lun mar mer jeu ven sam dim adj adv ltée s.a r.v n.d.l.r tél min max
fr start le la les l un une des du de ce cet cette ces il elle ils elles on nous vous je tu qui que quoi quel quelle quels où quand comment pourquoi est sont mais ou et donc or ni car si dans en sur sous avec pour par sans chez à au aux après avant depuis lors alors ainsi aussi cependant pourtant puis enfin mon ma mes son sa ses notre nos votre vos leur leurs tout tous toute toutes plusieurs certains c'est ceci cela y ne pas selon
es before ee sr sra srta sres sras d dª dña dn dto lic ing arq excmo excma ilmo ilma mons fr pbro rvdo s sta sto gral tte cnel av avda cía admón p.ej pág págs párr párrf núm núms tel ntra
es number n.º núm art arts cap fig tomo vol pág págs
es abbr ee.uu dpto dptos ene feb mar abr may jun jul ago sep sept oct nov dic lun mié jue vie sáb dom hs hrs min ltda s.a izq dcha ud uds vd vds aprox c.v a.c d.c
es start el la los las un una unos unas lo él ella ellos ellas yo tú nosotros usted ustedes esto esta este estos estas ese esa eso aquel aquella aquí allí hay es son era fue está están qué quién cómo cuándo dónde cuál por para con sin en de del al a y o pero si no sí ya también después antes luego entonces cuando como porque aunque mientras según su sus mi mis tu nuestro todo todos muchos algunos se me te le nos además
it before sig sigg sig.ra sig.na sig.re dott dott.ssa ing avv arch geom rag prof.ssa on sen gen col cap ten s ss mons mr p.es v.cte dir amm ecc.mo egr gent spett ca cfr ad
it number n nn num pag pagg art artt cap fig vol
it abbr gen feb mar apr mag giu lug ago set ott nov dic lun mer gio ven sab dom s.p.a s.r.l tel min max circa econ meteor idraul psicol
it closing ecc
it start il lo la i gli le un uno una questo questa questi queste quello quella egli lei lui loro noi voi io tu è sono era erano c'è ci che chi cosa come quando dove perché quale di del della dei delle da dal in nel nella su con per tra fra a al alla e o ma se non sì anche poi dopo prima allora così mentre quindi però suo sua mio mia tutto tutti molti alcuni si mi ti anche secondo
pt before sr sra srta srs dr dra drs prof profa eng arq exmo exma v.exa d dom fr pe gen cel cap ten av r trav sto sta pág págs
pt number n nº núm pág págs art arts cap fig vol
pt abbr jan fev mar abr mai jun jul ago set out nov dez ltda cia s.a tel min max aprox eua a.c d.c
pt start o a os as um uma uns umas ele ela eles elas eu tu nós você vocês este esta isto esse essa isso aquele aquela aqui ali há é são era foi está estão que quem como quando onde qual por porque para com sem em no na nos nas de do da dos das ao à e ou mas se não sim já também depois antes então embora enquanto segundo seu sua meu minha todo todos muitos alguns
nl before dhr mevr mw mej dr drs ir ing mr prof ds st gen kol resp bijv b.v d.w.z m.a.w o.a t.w z.g zgn vgl ca t.a.v i.p.v a.u.b n.a.v
nl number nr blz pag p art afb hfst deel
nl abbr jan feb mrt apr jun jul aug sept okt nov dec ma di wo do vr za zo jr sr n.v b.v tel min max incl excl aanw vnw m.b.t i.v.m
nl closing enz
nl ending str
nl start de het een dit dat deze die hij zij ze het wij we jullie ik jij je u er hier daar toen dan en maar of want als wat wie waar wanneer waarom hoe welke in op aan van voor met naar bij uit over onder na door is zijn was waren heeft hebben wordt kan kunnen ook nog niet geen mijn zijn haar ons onze alle veel sommige twee volgens
da before hr fr frk dr prof st skt gl kgl ca bl.a f.eks d.v.s dvs jf jvf m.fl pga pr red
da number nr s kap tlf bd stk
da abbr mv jan feb mar apr jun jul aug sept okt nov dec mio mia kr min sek a.s a/s aps e.kr f.kr co tlf m.m o.l
da closing osv
da start den det de en et han hun jeg du vi i man der her dette denne disse hvad hvem hvor hvornår hvorfor hvordan hvilken er var har havde kan skal vil og men eller så da når hvis fordi at på til fra med for af om efter før under over også ikke alle mange nogle min din sin hans hendes vores
da ordinals
sv before hr fr dr prof st kungl s.k t.ex bl.a d.v.s dvs fr.o.m t.o.m ca resp f.d jfr p.g.a
sv number nr s kap bd tfn tel
sv abbr m.m m.fl jan feb mar apr jun jul aug sept okt nov dec milj mdr kr min sek e.kr f.kr
sv closing osv o.s.v
sv start den det de en ett han hon jag du vi ni man där här detta denna dessa vad vem var när varför hur vilken är var har hade kan ska vill och men eller så då om eftersom att på i till från med för av efter före under över också inte alla många några min din sin hans hennes vår
no before hr fr frk dr prof st kgl ca bl.a f.eks dvs d.v.s jf pga
no number nr s kap tlf bd
no abbr m.m m.fl jan feb mar apr jun jul aug sept okt nov des mill mrd kr min sek a/s as e.kr f.kr
no closing osv
no start den det de en et ei han hun jeg du vi dere man der her dette denne disse hva hvem hvor når hvorfor hvordan hvilken er var har hadde kan skal vil og men eller så da hvis fordi at på i til fra med for av om etter før under over også ikke alle mange noen min din sin hans hennes vår
no ordinals
fi before hra rva nti tri prof esim ns mm t ts vrt ks ko po em
fi number nro n:o s
fi abbr ym ao klo n tammik helmik maalisk huhtik toukok kesäk heinäk elok syysk lokak marrask jouluk milj mrd min ks puh
fi closing jne yms
fi start hän he se ne minä sinä me te tämä tuo nämä nuo siellä täällä on oli ovat olivat mikä kuka missä milloin miksi miten mitä ja mutta tai sitten jos kun koska että vaikka myös ei kaikki monet jotkut kun
fi ordinals
is start hann hún það þeir þær ég þú við þetta þessi hvað hver hvar hvenær og en eða þá ef þegar á í er var eru
is abbr t.d o.s.frv m.a þ.e kr nr bls hr
is ordinals
pl before p pan dr inż mgr prof hab ks św gen płk kpt por sierż ul al pl os np tzw tj m.in ok im wg red zob por por.np bł abp bp hr
pl number nr s str art ust pkt poz tel rys tab t
pl abbr r w godz min sek mln mld tys zł gr sp z.o.o n.e p.n.e m.st woj pow stycz lut mar kwiec czerw lip sierp wrzes paźdz list grud bałt
pl closing itd itp
pl start to ten ta te on ona ono oni one ja ty my wy jest są był była było były tu tam co kto gdzie kiedy dlaczego jak który która które czy i a ale lub albo więc jeśli gdy ponieważ że w we na z ze do od po przed dla przez pod nad o u nie tak także też już jeszcze wszystkie wszyscy wielu niektóre jego jej ich mój nasz potem
pl ordinals
cs before p pí sl dr ing mgr bc mudr judr phdr rndr doc prof sv gen plk kpt např tzv tj mj cca ul nám tř př resp popř vč zn
cs number č čís str s odst obr tab tel kap roč
cs abbr aj r hod min mil mld tis kč s.r.o a.s n.l př.n.l st spol led ún břez dub květ červ srp září říj list pros
cs closing atd apod
cs start ten ta to ti ty on ona ono oni já ty my vy je jsou byl byla bylo byli tady tam co kdo kde kdy proč jak který která které a i ale nebo protože když pokud že v ve na z ze do od po před pro při s se o u ne ano také už ještě všichni všechny mnoho některé jeho její jejich můj náš potom pak
cs ordinals
sk before p pí sl dr ing mgr bc mudr judr phdr doc prof sv gen plk kpt napr tzv tj cca ul nám resp príp vč
sk number č čís str s ods obr tab tel kap roč
sk abbr a.i r hod min mil mld tis s.r.o a.s n.l pr.n.l st spol
sk closing atď apod
sk start ten tá to tí tie on ona ono oni ja ty my vy je sú bol bola bolo boli tu tam čo kto kde kedy prečo ako ktorý ktorá ktoré a aj i ale alebo pretože keď ak že v vo na z zo do od po pred pre pri s so sa o u nie áno tiež už ešte všetci všetky mnoho niektoré jeho jej ich môj náš potom
sk ordinals
sl before g ga gdč dr prof ing mag sv gen npr t.i tj tim ul oz prim gl
sl number št str čl odst tel sl pogl
sl abbr idr itn mio mrd tis min sek d.o.o d.d n.št pr.n.št jan feb apr avg sept okt nov dec
sl closing itd ipd
sl start ta to ti te on ona ono oni jaz ti mi vi je so bil bila bilo bili tu tam kaj kdo kje kdaj zakaj kako kateri katera in a ali pa ker ko če da v na z s iz do od po pred za pri o ne da tudi že še vsi vse mnogi nekateri njegov njen njihov potem
sl ordinals
hr before g gđa gđica dr prof mr ing sv gen npr tzv tj ul dr.sc fra г гђа гђица др проф мр инж св ген нпр тзв тј ул
hr number br str čl st tel sl бр стр чл ст тел сл
hr abbr i.sl sl tis mil mlrd min god d.o.o d.d n.e pr.kr и.сл сл хиљ мил млрд мин год д.о.о н.е пр.н.е
hr closing itd итд
hr start taj ta to ti te on ona ono oni ja ti mi vi je su bio bila bilo bili tu tamo što tko gdje kada zašto kako koji koja i a ali ili jer kad ako da u na s iz do od po prije za pri o ne da također već još svi sve mnogi neki njegov njezin njihov zatim
hr ordinals
ro before dl d-na dna d-l d-ra dr prof ing sf gen col str bd nr ex
ro number nr pag art alin cap fig vol tel
ro abbr ian feb mart apr iun iul aug sept oct noi dec mil mld lei min s.a s.r.l ș.a
ro start el ea ei ele eu tu noi voi acest această acesta aceasta aceste un o este sunt era au a fost aici acolo ce cine unde când de cum care și dar sau însă dacă pentru că în din la pe cu fără după înainte prin nu da și toți toate mulți unele lui lor meu nostru apoi
hu before dr prof id ifj özv st pl ún kb ill vö ld
hu number sz old bek fej köt
hu abbr u jan febr márc ápr máj jún júl aug szept okt nov dec ker u n.e i.e kft rt tel
hu closing stb
hu start a az ez ő ők én te mi ti ott itt van volt vannak voltak mi ki hol mikor miért hogyan melyik és de vagy hogy ha mert amikor nem igen is már még minden sok néhány egy két azután majd
hu ordinals
el before κ κα δις κος δρ καθ αγ αρ π.χ δηλ βλ πρβλ στρ λεωφ
el number αρ σελ κεφ άρθρ τηλ τομ εικ
el abbr κ.ά κ.α π.μ μ.μ ιαν φεβ μαρ απρ ιουν ιουλ αυγ σεπ οκτ νοε δεκ χιλ εκ δισ μ.χ π.χ α.ε ε.π.ε
el closing κ.λπ κλπ κ.τ.λ κτλ
el start ο η το οι τα τον την του της των ένας μια ένα αυτός αυτή αυτό αυτοί εγώ εσύ εμείς εσείς είναι ήταν έχει εδώ εκεί τι ποιος πού πότε γιατί πώς και αλλά ή αν όταν επειδή ότι σε στο στη στην στα από με για χωρίς μετά πριν δεν όχι ναι επίσης όλοι πολλοί μερικοί
el end ; ;
ru before г-н г-жа г-да гр тов акад проф доц д-р инж им св ул пл пр пер просп бул наб д кв корп стр обл р-н пос дер т.е т.н т.к см ср напр ген полк кап лейт мл ст зав зам о-в оз
ru number № п пп стр с гл рис табл ст ч т вып тел разд
ru abbr др пр г гг в вв руб коп тыс млн млрд долл дол кг км см мм м кв.м куб.м сек мин час н.э до.н.э у.е янв февр апр авг сент окт нояб дек л.с проч
ru closing т.д т.п
ru start он она оно они я ты мы вы это этот эта эти тот та те там тут здесь что кто где когда почему как какой какая который и а но или если потому чтобы на в во из с со к ко от до по для при без под над о об у за не нет да также уже ещё еще все многие некоторые его её их мой наш потом затем после был была было были есть
uk before п пані гр акад проф доц д-р інж ім св вул пл пров просп бул буд кв корп обл р-н с м смт т.зв тобто див напр ген
uk number № п пп стор с гл рис табл ст ч т вип тел розд
uk abbr ін р рр ст грн коп тис млн млрд дол кг км см мм н.е д.н.е січ лют берез квіт трав черв лип серп верес жовт листоп груд хв год
uk closing т.д т.п
uk start він вона воно вони я ти ми ви це цей ця ці той та ті там тут що хто де коли чому як який яка і й а але або якщо бо щоб на в у із з зі до від по для при без під над о про за не ні так також вже ще всі багато деякі його її їх мій наш потім після був була було були є
bg before г-н г-жа г-ца д-р проф доц инж акад св ул бул пл ж.к т.е т.нар вж срв напр ген полк им
bg number № чл стр с гл фиг табл ал т тел бр
bg abbr т.г и.др др г гг в вв лв ст хил млн млрд кг км см мм н.е пр.н.е сл вкл ян февр апр авг септ окт ноем дек м.г мин
bg closing и.т.н т.н
bg start той тя то те аз ти ние вие това този тази тези там тук какво кой къде кога защо как който която и а но или ако защото когато че на в във от с със до по за при без под над не да също вече още всички много някои неговият неговата техният после е са беше бяха
tr before sn dr doç prof av müh öğr yrd hz alb gen yzb örn bkz yön mah cad sok apt
tr number no nr sf cilt md
tr abbr vd vs.vb t.c a.ş ltd şti mö ms m.ö m.s yy tel oca şub mar nis haz tem ağu eyl eki kas ara bşk üniv
tr closing vb vs
tr start bu şu o onlar ben sen biz siz bir burada orada ne kim nerede niçin neden nasıl hangi ve ama fakat ya veya eğer çünkü ile için sonra önce değil evet hayır da de daha bütün birçok bazı iki onun onların
tr ordinals
ca before sr sra srta d na dr dra prof eng arq av c pl p.ex ex
ca number núm pàg pàgs art cap fig vol tel
ca abbr gen febr abr jul set oct nov des s.a ltd
ca start el la els les un una uns unes ell ella ells elles jo tu nosaltres vostè això aquest aquesta aquests aquí allà hi és són era va què qui com quan on per amb sense en de del a al i o però si no sí també després abans mentre segons
lt before p pon dr prof doc gerb pvz t.y g al pr kun šv
lt number nr psl str tel
lt abbr pan kt d m mėn val min tūkst mln mlrd lt
lt closing t.t
lt start jis ji jie jos aš tu mes jūs tai šis ši yra buvo čia ten kas kur kada kodėl kaip ir bet ar arba jei nes kad į iš su be po prieš ne taip taip pat visi daug
lv before dr prof k-gs kdze doc piem t.i ģen
lv number nr lpp p tālr
lv abbr u.c u.tml gs plkst min tūkst milj
lv closing utt
lv start viņš viņa viņi viņas es tu mēs jūs tas tā šis šī ir bija šeit tur kas kur kad kāpēc kā un bet vai ja jo ka uz no ar bez pēc pirms nē jā arī visi daudz
lv ordinals
et before hr pr prl dr prof nt s.t st sh
et number nr lk tel
et abbr jms jt a aasta sek min tuh milj mld
et closing jne
et start tema ta nemad nad mina sina meie teie see need siin seal on oli olid mis kes kus millal miks kuidas ja aga või kui sest et ka ei jah kõik palju mõned
et ordinals
hi before डॉ डा प्रो श्री श्रीमती सुश्री कु पं
id before dr drs ir prof jl bpk tn ny sdr sdri kol jend
id number no hlm hal bab tel
id abbr jan feb mar apr jun jul agt sep okt nov des rp pt cv tbk
id closing dll dsb dst
id start dia ia saya aku kami kita mereka anda kamu ini itu yang di ke dari pada dan atau tetapi tapi karena jika kalau ketika bahwa untuk dengan tanpa setelah sebelum adalah ada apa siapa kapan mengapa bagaimana tidak ya juga sudah semua banyak beberapa seorang sebuah
vi before ts ths gs pgs bs tp ô
vi number số tr
vi start tôi bạn anh chị em ông bà nó chúng họ đây đó này là và hoặc nhưng vì nếu khi rằng cho với không sau trước có gì ai đâu tại như cũng đã tất các những một trong ở của
mr before डॉ डा प्रा श्री श्रीमती सौ
ar before د أ م ص.ب
hy end :
)words";

}  // namespace v0
}  // namespace transmute
