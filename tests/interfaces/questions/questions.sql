-- topic: counts
-- answered
select count(*) from people;
-- answered
select count(*) as adults from people where age >= 18;
-- answered
select count(*) from people where age between 18 and 64 and sex = 'f';
-- answered
select count(*) from people where region in ('north', 'west');
-- answered
select count(*) from people where income is null;
-- answered
select count(income) from people;
-- answered
select count(*) from people where smokes and not (age < 18 or region = 'south');
-- answered
select count(1) from people p where p.smokes = true;
-- answered
select sum(case when smokes then 1 else 0 end) as smokers from people;
-- answered
select count(case when age > 64 then 1 end) as old from people;
-- answered
select count_if(smokes) from people;
-- answered
select count(*) filter (where sex = 'f') as women, count(*) filter (where sex = 'm') as men from people;
-- answered
select count(*) as n, count(income) as with_income, count(*) filter (where income > 100) as rich from people;
-- answered
select count(distinct person) from visits;
-- answered
select count(distinct person) from visits where kind = 'urgent';
-- answered
select count(*) from visits where cost > 100;
-- answered
select count(distinct city) from people;
-- answered
select count(distinct id) from people;
-- answered
select count(*) from people where city = 'Delft';
-- refused: 'east' is no value of column 'region' in the public facts (they know
select count(*) from people where region = 'east';

-- topic: tables
-- answered
select region, count(*) from people group by region;
-- answered
select region, sex, count(*) as n from people group by region, sex order by n desc;
-- answered
select stage, count(*) from people group by stage;
-- answered
select floor(age / 10) * 10 as decade, count(*) from people group by decade order by decade;
-- answered
select case when age < 18 then 'child' when age < 65 then 'adult' else 'senior' end as who, count(*) from people group by who;
-- answered
select width_bucket(income, 0, 200, 4) as bracket, count(*) from people group by 1;
-- answered
select region, sex, count(*) from people group by cube (region, sex);
-- answered
select region, sex, count(*) from people group by rollup (region, sex);
-- answered
select region, education, count(*) from people group by grouping sets ((region), (education), ());
-- answered
select education, count(*) from people where education <> 'none' group by education;
-- answered
select smokes, count(*) from people group by smokes;
-- answered
select employed, count(*) from people group by employed;
-- answered
select region, count(*) as n from people group by region order by n desc limit 2;
-- answered
select clinic, count(*) from visits group by clinic;
-- answered
select clinic, count(distinct person) as patients from visits group by clinic;
-- answered
select clinic, kind, count(*) from visits group by clinic, kind;
-- answered
select city, count(*) from people group by city;
-- answered
select income, count(*) from people group by income;
-- answered
select age % 2 as odd, count(*) from people group by odd;
-- answered
select region from people group by region order by count(*) desc limit 1;
-- refused: DISTINCT shows which values there are, and a value that one person
select distinct region from people;
-- refused: GROUP BY region: lines are named by what they are grouped by, so
select count(*) from people group by region;

-- topic: sums and means
-- answered
select sum(income) from people;
-- answered
select avg(age) from people;
-- answered
select avg(income) from people where sex = 'f';
-- answered
select region, avg(income) as mean from people group by region;
-- answered
select region, sum(income) as total, count(*) as n, avg(income) as mean from people group by region;
-- answered
select avg(height) from people;
-- answered
select sum(cost) from visits;
-- answered
select clinic, sum(cost), avg(minutes) from visits group by clinic;
-- answered
select avg(cost) filter (where kind = 'urgent') from visits;
-- answered
select avg(employed) as rate from people;
-- answered
select region, avg(employed) as rate from people group by region;
-- answered
select region, sex, 100 * avg(employed) as percent from people group by region, sex;
-- answered
select sum(employed) from people;
-- answered
select region, sum(employed) from people group by region;
-- answered
select avg(case when smokes then 1.0 else 0 end) as share from people;
-- answered
select region, avg(case when smokes then 1 else 0 end) as share from people group by region;
-- answered
select region, avg(smokes::int) as share from people group by region;
-- refused: the mean of 'city' is not known: it is of type text, and only numbers
select avg(city) from people;
-- answered
select sum(income * 12) from people;
-- answered
select sum(income) * 12 as yearly from people;
-- refused: SUM(income + age) computes on rows, and a row might make that fail:
select sum(income + age) from people;
-- refused: AVG(income) OVER (): windows are over groups that are published, not
select avg(income) over () from people;
-- refused: SUM(DISTINCT income) is about values, each once, and is not offered:
select sum(distinct income) from people;

-- topic: medians and modes
-- answered
select median(age) from people;
-- answered
select region, median(income) from people group by region;
-- answered
select percentile_disc(0.9) within group (order by income) from people;
-- answered
select percentile_cont(0.5) within group (order by income) from people;
-- answered
select quantile(age, 0.25) as q1, quantile(age, 0.75) as q3 from people;
-- answered
select quantile(age, 0.75) - quantile(age, 0.25) as iqr from people;
-- answered
select min(age), max(age) from people;
-- answered
select max(age) - min(age) as span from people;
-- answered
select mode(region) from people;
-- answered
select sex, mode(education) from people group by sex;
-- answered
select median(cost) from visits;
-- refused: the quantile of 'joined' is not known: it is of type date, and only
select max(joined) from people;

-- topic: ratios and shares
-- answered
select 100.0 * count(*) filter (where smokes) / count(*) as percent from people;
-- answered
select 100.0 * sum(case when smokes then 1 else 0 end) / count(*) as percent from people;
-- answered
select region, 100.0 * count(*) filter (where smokes) / count(*) as percent from people group by region;
-- answered
select region, count(*) * 100.0 / sum(count(*)) over () as percent from people group by region;
-- answered
select region, sex, count(*) * 1.0 / sum(count(*)) over (partition by region) as share from people group by region, sex;
-- answered
select region, round(100.0 * count(*) / sum(count(*)) over (), 1) as percent from people group by region order by percent desc;
-- answered
select sum(income) / count(income) as mean from people;
-- answered
select sum(income) / nullif(count(income), 0) as mean from people;
-- answered
select sum(cost) / sum(minutes) as per_minute from visits;
-- answered
select clinic, sum(cost) / nullif(sum(minutes), 0) as per_minute from visits group by clinic;
-- answered
select count(*) filter (where sex = 'f') - count(*) filter (where sex = 'm') as difference from people;
-- answered
select count(*) filter (where sex = 'f') * 1.0 / count(*) filter (where sex = 'm') as ratio from people;
-- answered
select avg(income) filter (where sex = 'm') - avg(income) filter (where sex = 'f') as gap from people;
-- answered
select 1 - avg(income) filter (where sex = 'f') / avg(income) filter (where sex = 'm') as gap from people;
-- answered
select count(*) / 2000.0 as rate from people where smokes;
-- answered
select 1000.0 * count(*) / 2000 as per_thousand from visits where kind = 'urgent';
-- answered
select count(*) * 1.0 / count(distinct person) as visits_each from visits;
-- answered
select cast(count(*) filter (where age >= 65) as double) / count(*) as share from people;
-- answered
select region, count(*) filter (where age < 15) + count(*) filter (where age > 64) as dependants, round(100.0 * (count(*) filter (where age < 15) + count(*) filter (where age > 64)) / nullif(count(*) filter (where age between 15 and 64), 0), 1) as dependency from people group by region;
-- answered
select region, count(*) as n, avg(count(*)) over () as mean_size, count(*) - avg(count(*)) over () as above from people group by region;
-- answered
select region, count(*) * 1.0 / max(count(*)) over () as relative from people group by region;
-- answered
select coalesce(sum(income), 0) as total from people where age < 18;
-- answered
select abs(count(*) filter (where smokes) - count(*) filter (where not smokes)) as gap from people;
-- answered
select greatest(count(*) - 10, 0) as at_least from people;
-- answered
select region, case when count(*) < 100 then 'small' else 'large' end as size from people group by region;
-- answered
select region, case when count(*) >= 20 then count(*) end as n from people group by region;
-- answered
select region, rank() over (order by count(*) desc) as place, count(*) from people group by region;
-- answered
select region, count(*), sum(count(*)) over (order by region) as running from people group by region;
-- refused: SUM(COUNT(*)) OVER (ORDER BY region DESC
select region, count(*), sum(count(*)) over (order by region desc) as running from people group by region;
-- refused: LOG(COUNT(*)) is not known around published numbers: known are + - *
select log(count(*)) from people;
-- refused: RAND(): noise is drawn once for each number, from a secure source:
select count(*) * random() from people;
-- answered
select round(avg(income), 2) as mean, ceil(sum(income) / 1000.0) as thousands from people;
-- answered
select count(*)::float / 7 as weekly from visits;
-- answered
select power(count(*), 2) from people;
-- answered
select 'town' as place, count(*) as n from people;
-- answered
select region || '!' as r, count(*) from people group by r;

-- topic: having and order
-- answered
select region, count(*) as n from people group by region having count(*) > 100;
-- answered
select region, avg(income) as mean from people group by region having count(*) >= 50;
-- answered
select region, sex, count(*) as n from people group by region, sex having n between 10 and 500 order by n;
-- answered
select region, count(*) as n from people group by region having region <> 'west';
-- answered
select region, avg(age) from people group by region order by avg(income) desc;
-- answered
select region, count(*) as n from people group by region having avg(income) > 30 and count(*) > 10;
-- refused: HAVING age > 30 is about rows: put that into WHERE. HAVING chooses
select region, count(*) from people group by region having age > 30;
-- answered
select region from people group by region having count(*) > 600;
-- answered
select region, count(*) as n from people group by region order by count(*) filter (where smokes) desc limit 1;
-- answered
select clinic, avg(cost) as mean from visits group by clinic having mean > 50 order by mean desc;
-- answered
select region, count(*) from people group by region order by 2 desc, 1;
-- refused: QUALIFY COUNT(*) > 10 chooses lines by windows: choose groups by
select region, count(*) from people group by region qualify count(*) > 10;
-- refused: RAND(): noise is drawn once for each number, from a secure source:
select count(*) from people order by random();
-- refused: OFFSET 1 leaves out the first lines: all lines cost as much as some,
select region, count(*) from people group by region limit 2 offset 1;

-- topic: variance
-- answered
select var_pop(age) from people;
-- answered
select stddev(income) from people;
-- answered
select region, avg(income) as mean, stddev_samp(income) as sd from people group by region;
-- answered
select variance(height) from people;
-- answered
select covar_pop(age, income) from people;
-- answered
select covar_samp(age, income) from people where sex = 'f';
-- answered
select corr(age, income) from people;
-- answered
select regr_slope(income, age) from people;
-- answered
select region, regr_slope(income, age) as slope from people group by region;
-- answered
select stddev(cost) / avg(cost) as variation from visits;
-- answered
select avg(income) - 2 * stddev(income) as low, avg(income) + 2 * stddev(income) as high from people;
-- answered
select regr_intercept(income, age) from people;
-- answered
select regr_r2(income, age) from people;
-- refused: the aggregate KURTOSIS(income) is not offered: known are COUNT, SUM,
select kurtosis(income) from people;

-- topic: dates and texts
-- answered
select count(*) from people where joined >= '2015-01-01';
-- answered
select count(*) from people where joined between date '2015-01-01' and date '2015-12-31';
-- answered
select extract(year from joined) as year, count(*) from people group by year;
-- answered
select date_trunc('month', day) as month, count(*) from visits group by month;
-- answered
select strftime(joined, '%Y') as year, count(*) from people group by 1;
-- answered
select year(day) as y, sum(cost) from visits group by y;
-- answered
select count(*) from people where extract(year from joined) = 2015;
-- answered
select count(*) from people where region like 'n%';
-- answered
select upper(region) as r, count(*) from people group by r;
-- answered
select count(*) from people where lower(education) = 'college';
-- answered
select substr(region, 1, 1) as initial, count(*) from people group by initial;
-- refused: CURRENT_DATE is another day whenever it is asked
select avg(current_date - joined) from people;
-- refused: city LIKE 'D%' needs the possible values of 'city' (text), because
select count(*) from people where city like 'D%';
-- answered
select extract(dow from day) as weekday, count(*) from visits group by weekday;

-- topic: joins and subqueries
-- answered
select count(*) from (select * from people where age >= 18) as adults where smokes;
-- answered
with adults as (select * from people where age >= 18) select region, count(*) from adults group by region;
-- answered
with adults as (select age, sex as gender from people where age >= 18) select gender, avg(age) from adults group by gender;
-- answered
select p.region, count(*) from visits v join people p on v.person = p.id group by p.region;
-- answered
select sex, avg(cost) from visits join people on person = id group by sex;
-- answered
select avg(n) from (select person, count(*) as n from visits group by person) as each_person;
-- answered
select n, count(*) from (select person, count(*) as n from visits group by person) as v group by n;
-- answered
select count(*) from (select person, sum(cost) as spent from visits group by person) as v where spent > 200;
-- answered
select region, count(*) from people where id in (select person from visits) group by region;
-- refused: table 'people' is joined with itself, which is not offered
select a.region, count(*) from people a, people b where a.age = b.age group by a.region;
-- answered
select region, n from (select region, count(*) as n from people group by region) as t where n > 100;
-- refused: got UNION: ask for its parts as groups of one
select count(*) from people union all select count(*) from visits;
-- refused: (SELECT COUNT(*) FROM visits) is a question of its own: ask both, in
select (select count(*) from visits) * 1.0 / count(*) from people;
-- refused: a subquery groups by the person alone, and its numbers are one for
select max(n) from (select region, count(*) as n from people group by region) as t;
-- answered
select count(*) from (select distinct person from visits) as v;

-- topic: not private
-- refused: SELECT * shows single rows, which cannot be private: ask for
select * from people;
-- refused: 'age' would be the value of one row: put it into an aggregate such as
select age, income from people where id = 17;
-- refused: ARRAY_AGG(income) lists the values of single rows, which cannot be
select array_agg(income) from people;
-- refused: GROUP_CONCAT(city, ',') lists the values of single rows, which cannot
select string_agg(city, ',') from people;
-- refused: ANY_VALUE(city) is the value of one row, which cannot be private: ask
select any_value(city) from people;
-- refused: FIRST(income) is the value of one row, which cannot be private: ask
select region, first(income) from people group by region;
-- refused: SELECT * shows single rows, which cannot be private: ask for
select *, row_number() over (partition by region order by income desc) from people;
-- refused: APPROX_DISTINCT(city) is about values, each once, and is not offered:
select region, approx_count_distinct(city) from people group by region;
-- refused: TABLESAMPLE SYSTEM (10 PERCENT) asks some of the rows: every answer
select count(*) from people tablesample 10 percent;
-- refused: column 'id' is not declared (declared: person, clinic, kind, cost,
select id, count(*) from visits group by id;

-- topic: as it was written last week
-- answered
select count(*) from people where joined < date '2015-01-01' + interval '1 year';
-- answered
select count(*) from people where joined > date '2020-12-31' - interval 30 day;
-- answered
select count(*) from people where region in (select 'north' union all select 'south');
-- answered
select count(*) from people where region in (values ('north'), ('south'));
-- answered
select region, sex, count(*) from people group by all;
-- answered
select sum(age > 40) as above_40 from people;
-- answered
select p.region, count(*) from people p right join visits v on p.id = v.person group by p.region;
-- answered
select p.region, count(distinct v.person) from visits v, people p where v.person = p.id and p.age > 40 group by p.region;
-- answered
with t as (select region, count(*) as n from people group by region) select region, n, n * 100.0 / sum(n) over () as percent from t;
-- answered
with t as (select region, count(*) as n from people group by region) select region, n from t where n > 100 order by n desc limit 2;
-- answered
select t.region, round(t.mean, 1) as mean from (select region, avg(income) as mean from people group by 1) t;
-- answered
select band, share from (select case when age < 65 then 'young' else 'old' end as band, count(*) * 1.0 / sum(count(*)) over () as share from people group by band) s;
-- answered
select coalesce(education, 'unknown') as level, count(*) from people group by 1;
-- answered
select count(*) filter (where age >= 65) / nullif(count(*), 0)::numeric as share from people;
-- answered
select date_part('month', joined) as m, count(*) from people group by 1 order by 1;
-- answered
select region, round(100.0 * count(*) / sum(count(*)) over (), 1) as percent from people group by region order by percent desc;
-- answered
select avg(case when smokes then 1.0 else 0 end) as share from people;
-- answered
select count(*) from people where region ilike 'n%' and age not between 18 and 30;
-- answered
select kind, count(*) as n, sum(cost) as spent from visits where day >= date '2023-01-01' - interval 1 quarter group by kind having count(*) > 50;
-- answered
select count(*) from people p where exists (select 1 from visits v where v.person = p.id and v.cost > 100);
-- answered
select count(*) from people p left join (select person, count(*) as n from visits where cost > 100 group by person) e on p.id = e.person where e.n > 0;
-- refused: a subquery groups by the person alone, and its numbers are one for
select sum(n) from (select region, count(*) as n from people group by region) as t;
-- refused: windows are over
select ntile(4) over (order by income) from people;

-- topic: defaults and scalar subqueries
-- answered
select sum(coalesce(income, 0)) as total from people;
-- answered
select region, sum(coalesce(income, 0)) as total from people group by region;
-- answered
select avg(coalesce(income, 0)) as mean from people;
-- answered
select region, round(avg(coalesce(income, 0)), 1) as mean from people group by region;
-- answered
select sum(coalesce(income, 20)) as total from people where sex = 'f';
-- answered
select avg(coalesce(height, 1.7)) from people;
-- answered
select clinic, sum(ifnull(cost, 0)) as spent from visits group by clinic;
-- answered
select sum(coalesce(cost, 0)) filter (where kind = 'urgent') as spent from visits;
-- answered
select count(coalesce(income, 0)) from people;
-- answered
select sum(coalesce(employed, 0)) as working, count(*) as n from people;
-- answered
select coalesce(employed, 0) as working, count(*) from people group by working;
-- answered
select count(*) * 100.0 / (select count(*) from people) as percent from people where smokes;
-- answered
select round(100.0 * count(*) / (select count(*) from people p2 where p2.age >= 18), 1) as percent from people where smokes and age >= 18;
-- answered
select avg(income) - (select avg(income) from people) as above from people where region = 'north';
-- answered
select region, count(*) * 100.0 / (select count(*) from people) as percent from people group by region;
-- answered
select (select count(*) from people where sex = 'f') * 1.0 / (select count(*) from people) as share from people;
-- answered
select region, count(*) * 100.0 / (select count(*) from people) as percent from people where smokes group by region;
-- refused: (SELECT AVG(age) FROM people) would compare rows with a number that is not published
select count(*) from people where age > (select avg(age) from people);
-- refused: reads p.region of the question around it
select count(*) / (select count(*) from people q where q.region = p.region) from people p;
-- refused: (SELECT age FROM people) would be the value of one row
select count(*) / (select age from people) from people;
-- refused: rows may be in no group of 'education'
select education, count(*) * 100.0 / (select count(*) from people) as percent from people group by education;
-- refused: is a question of its own
select region, avg(income) - (select avg(income) from people) as above from people group by region;

-- topic: spellings of other databases
-- answered
select sum(iff(smokes, 1, 0)) as smokers from people;
-- answered
select sum(if(age > 64, 1, 0)) as seniors, count(*) as n from people;
-- answered
select region, safe_divide(countif(smokes), count(*)) as share from people group by region;
-- answered
select div0(count_if(smokes), count(*)) from people;
-- answered
select datepart(year, joined) as y, count(*) from people group by datepart(year, joined);
-- answered
select approx_quantile(income, 0.5), approx_percentile(income, 0.9) from people;
-- answered
select to_char(joined, 'YYYY-MM') as ym, count(*) from people group by ym;
-- answered
select date_format(day, '%Y-%m') as ym, count(*) from visits group by ym;
-- answered
select format_date('%Y', joined) as y, count(*) from people group by y;
-- answered
select isnull(sum(income), 0) from people;
-- answered
select mean(age), stdevp(age), varp(age) from people;
-- answered
select sum_if(cost, kind = 'urgent') as spent from visits;
-- answered
select region, count(*) from people group by region order by count(*) / 2 desc fetch first 2 rows only;
-- answered
select count(*) from people where (age, sex) in ((30, 'f'), (40, 'm'));
-- answered
select sum(income) as "total income", sum(income) / 1e6 as millions from people;
-- answered
select count(*) from people where joined >= to_date('2015-01-01');
-- refused: TOP n is written as LIMIT n
select top 2 region, count(*) as n from people group by region order by n desc;
-- refused: one rank above 0 and below 1, got ARRAY(0.25, 0.5): ask for several
select percentile_cont(array[0.25, 0.5]) within group (order by income) from people;
-- refused: is a list of values: ask for QUANTILE(income, 0.25)
select approx_quantiles(income, 4) from people;
-- refused: would change with one row: ask for COUNT(*) FILTER
select bool_or(smokes) from people;
-- refused: has sex, region: group by each
select region || '-' || sex as both, count(*) from people group by both;

-- topic: windows over lines
-- answered
select region, count(*) as n from people group by region qualify rank() over (order by count(*) desc) <= 2;
-- answered
select region, count(*) as n from people group by region qualify row_number() over (order by n desc) = 1;
-- answered
select * from (select region, sex, count(*) as n, row_number() over (partition by region order by count(*) desc) as place from people group by region, sex) t where place = 1;
-- answered
select * from (select region, count(*) as n from people group by region having n > 10) t where n > 100;
-- answered
select region, dense_rank() over (order by avg(income) desc) as place from people group by region;
-- answered
select extract(year from joined) as y, count(*) - lag(count(*)) over (order by extract(year from joined)) as growth from people group by y;
-- answered
select region, sex, lead(count(*)) over (partition by region order by sex) - count(*) as more from people group by region, sex;
-- answered
select region, count(*) as n, sum(count(*)) over () as total from people group by region having count(*) > 100;
-- refused: HAVING leaves some of them out
select region, sum(count(*)) over (order by region) as running from people group by region having count(*) > 10;

-- topic: computed columns
-- answered
select avg(age + 1) from people;
-- answered
select sum(income - 10) from people;
-- answered
select avg((income - 32) / 1.8) from people;
-- answered
select region, sum(2 * (income + 3)) from people group by region;
-- answered
select dayname(day) as weekday, count(*) from visits group by weekday;
-- answered
select monthname(joined) as month, avg(income) from people group by month;
-- answered
select trunc(age / 10) as decade, count(*) from people group by decade;
-- answered
select last_day(day) as month, count(*) from visits group by month;
-- refused: known are multiples of a column plus a constant
select sum(greatest(income, 50)) from people;

-- topic: who is in a subquery
-- answered
select region, count(*) from people where id not in (select person from visits where kind = 'urgent') and age > 18 group by region;
-- answered
select count(*) from people p where not exists (select * from visits v where v.person = p.id);
-- answered
select count(*) from people p where age > 60 or exists (select * from visits v where v.person = p.id and v.kind = 'urgent');
-- answered
select kind, count(*) from visits where person in (select id from people where age >= 65) group by kind;
-- answered
select count(*) from (select person from visits group by person having count(*) >= 2) as v;
-- answered
select avg(spent) from (select person, sum(cost) as spent from visits group by person having spent > 100 and max(minutes) > 30) as v;
-- answered
select count(*) from people where id in (select person from visits group by person having count(*) >= 2);
-- answered
select (select avg(income) from people where sex = 'm') - (select avg(income) from people where sex = 'f') as gap;
-- refused: table 'visits' is joined with itself
select count(*) from visits where person in (select person from visits where kind = 'urgent');
-- refused: groups that are published there are windows
select avg(n) from (select clinic, count(*) as n from visits group by clinic) as t;
-- refused: write the day, such as DATE '2024-01-01'
select count(*) from people where joined > current_date - interval '1 year';

-- topic: several numbers in several tables
-- answered
select region, sex, count(*) as n, grouping(region) as total from people group by rollup (region, sex);
-- answered
select region, sex, avg(income) as mean from people group by cube (region, sex);
-- answered
select region, sex, sum(income), count(*), avg(income) from people group by rollup (region, sex);
-- answered
select region, sex, 100.0 * count(*) / sum(count(*)) over (partition by grouping(region), grouping(sex)) as percent from people group by cube (region, sex);
-- answered
select coalesce(region, 'all') as place, count(*) from people group by rollup (region);
-- answered
select case when grouping(region) = 1 then 'all' else region end as place, count(*) from people group by rollup (region);
-- answered
select region, sex, count(*) filter (where smokes) * 1.0 / count(*) as share from people group by cube (region, sex);
-- answered
select region, sex, avg(employed) as rate from people group by rollup (region, sex);
-- answered
select clinic, kind, avg(cost) as mean, count(*) as n from visits group by cube (clinic, kind);
-- answered
select region, avg(income) filter (where age >= 18) from people group by grouping sets ((region), ()) having count(*) > 20;
-- refused: is not known with GROUPING SETS, CUBE and ROLLUP
select region, sex, median(income), count(*) from people group by cube (region, sex);
-- refused: PARTITION BY takes columns of GROUP BY
select region, sex, sum(count(*)) over (partition by grouping(region)) from people group by cube (region, sex);
-- refused: the days between two dates are known for columns of one declared table
select avg(datediff('day', joined, day)) from visits v join people p on v.person = p.id;
-- refused: the days between two dates are known for columns of one declared table
select avg(last - first) from (select person, min(day) as first, max(day) as last from visits group by person) as v;

-- topic: another hundred, of offices, TPC-H and several dialects
-- answered
select count(*) as "n persons" from people where age >= 65 and smokes;
-- answered
select region, sex, avg(income) as mean_income from people where age between 15 and 74 group by region, sex order by region, sex;
-- answered
select p.region, count(*) as visits, sum(v.cost) as total, avg(v.cost) as mean from people p inner join visits v on p.id = v.person group by p.region;
-- answered
select extract(year from v.day) as y, extract(month from v.day) as m, count(*) from visits v group by 1, 2 order by 1, 2;
-- answered
select clinic, count(*) filter (where kind in ('urgent')) as u, count(*) filter (where kind in ('check','follow-up')) as other from visits group by clinic;
-- answered
select count(*) filter (where region in ('north','south')) * 100.0 / count(*) as pct from people;
-- answered
select sum(case when kind = 'urgent' then cost else 0 end) as urgent_cost, sum(case when kind <> 'urgent' then cost else 0 end) as other_cost from visits;
-- answered
select 100.00 * sum(case when kind = 'urgent' then cost else 0 end) / sum(cost) as urgent_share from visits;
-- answered
select kind, sum(cost) as revenue from visits where day >= date '2022-01-01' and day < date '2022-01-01' + interval '1' year group by kind order by revenue desc;
-- answered
select region, count(*) as custdist from people where not exists (select 1 from visits where visits.person = people.id) group by region;
-- refused: one table of events is joined with one of their people, by the person
select c_count, count(*) as custdist from (select p.id, count(v.person) as c_count from people p left join visits v on p.id = v.person group by p.id) c group by c_count order by custdist desc;
-- answered
select clinic, sum(cost) as total from visits group by clinic having sum(cost) > 1000;
-- answered
select avg(cost) from visits where kind like '%up';
-- answered
select case when income < 50 then 'low' when income < 150 then 'mid' else 'high' end as bracket, count(*) as n, avg(age) as mean_age from people where income is not null group by 1;
-- answered
select region, count(*) as n, round(100.0 * count(*) / sum(count(*)) over (), 1) as share from people group by region;
-- answered
select region, education, count(*) as n, round(100.0 * count(*) / sum(count(*)) over (partition by region), 1) as share_in_region from people group by region, education;
-- answered
select date_trunc('quarter', day) as quarter, count(*) as visits, count(distinct person) as patients from visits group by date_trunc('quarter', day) order by quarter;
-- answered
select year(joined) as yr, count(*) as joined, sum(count(*)) over (order by year(joined)) as cumulative from people group by year(joined) order by yr;
-- answered
select m, n, n - lag(n) over (order by m) as change from (select date_trunc('month', day) as m, count(*) as n from visits group by 1) t order by m;
-- answered
select dayname(day) as weekday, avg(minutes) as mean_minutes from visits group by 1;
-- answered
select count(distinct person) as patients, count(*) as visits, count(*) * 1.0 / count(distinct person) as visits_per_patient from visits;
-- answered
select p.sex, count(distinct v.person) from visits v join people p on p.id = v.person where v.cost > 250 group by p.sex;
-- answered
with per as (select person, sum(cost) as spent, count(*) as n from visits group by person) select avg(spent) as mean_spent, avg(n) as mean_visits from per;
-- answered
with per as (select person, sum(cost) as spent from visits group by person) select case when spent < 200 then '<200' when spent < 600 then '200-599' else '600+' end as band, count(*) as people from per group by band;
-- answered
with per as (select person, max(cost) as top from visits group by person) select p.region, avg(per.top) from per join people p on p.id = per.person group by p.region;
-- answered
select stddev_samp(income) as sd, avg(income) as mean from people;
-- answered
select region, var_samp(age) as v from people group by region;
-- answered
select median(income) from people where employed = 1;
-- answered
select percentile_cont(0.5) within group (order by age) from people;
-- answered
select percentile_cont(0.25) within group (order by age) as q1, percentile_cont(0.75) within group (order by age) as q3 from people;
-- answered
select approx_quantile(age, 0.9) from people;
-- answered
select region, median(age) from people group by region;
-- refused: median(age) is not known with GROUPING SETS, CUBE and ROLLUP: their
select region, sex, median(age) from people group by cube (region, sex);
-- answered
select mode(education) from people;
-- answered
select education, count(*) from people group by education order by count(*) desc limit 1;
-- answered
select region, rank() over (order by count(*) desc) as r, count(*) as n from people group by region;
-- answered
select iif(age >= 18, 'adult', 'minor') as grp, count(*) from people group by iif(age >= 18, 'adult', 'minor');
-- refused: this is not SQL that can be read: The number of provided arguments (5) is
select decode(sex, 'f', 'women', 'm', 'men') as who, count(*) from people group by 1;
-- answered
select if(smokes, 'smoker', 'non-smoker') as s, countif(age > 50) as over50 from people group by 1;
-- answered
select region, count_if(smokes) / count(*) as rate from people group by region;
-- answered
select region, avg(case when smokes then 1.0 else 0.0 end) as prevalence from people group by region;
-- answered
select region, avg(smokes::int) as prevalence from people group by region;
-- answered
select region, sum(employed) as employed, count(*) - sum(employed) as not_employed from people group by region;
-- answered
select avg(employed) * 100 as employment_rate from people where age between 20 and 64;
-- answered
select sex, sum(income) / nullif(count(income), 0) as mean_income from people group by sex;
-- answered
select count(*) from people where joined between '2015-01-01' and '2019-12-31';
-- answered
select count(*) from people where extract(dow from joined) in (0, 6);
-- answered
select count(*) from people where month(joined) = 12;
-- refused: DATEDIFF(MAX(day), MIN(day), DAY) is not known around published numbers:
select datediff('day', min(day), max(day)) from visits;
-- refused: DATEDIFF(day, joined, DAY): the days between two dates are known for
select avg(datediff('day', p.joined, v.day)) from visits v join people p on p.id = v.person;
-- answered
select age / 5 * 5 as age_group, sex, count(*) from people group by 1, 2 order by 1, 2;
-- refused: a function of a column is written with + - * / %, floor, ceil, round,
select cast(age / 10 as int) * 10 as decade, count(*) from people group by cast(age / 10 as int) * 10;
-- answered
select age - age % 10 as decade, count(*) from people group by age - age % 10;
-- answered
select width_bucket(age, 0, 100, 10) as b, count(*) from people group by b order by b;
-- refused: a function of a column is written with + - * / %, floor, ceil, round,
select ntile(4) over (order by income) as q, count(*) from people group by 1;
-- answered
select upper(region) as r, count(*) from people group by upper(region);
-- answered
select substr(region, 1, 1) as initial, count(*) from people group by 1;
-- refused: a function is evaluated on the declared values of one column (or on the
select concat(region, '-', sex) as cell, count(*) from people group by concat(region, '-', sex);
-- refused: a function is evaluated on the declared values of one column (or on the
select region || '/' || sex as cell, count(*) from people group by 1;
-- answered
select coalesce(income, 0) > 100 as rich, count(*) from people group by 1;
-- answered
select count(*) from people where coalesce(income, 0) = 0;
-- answered
select region, grouping(region), count(*) from people group by rollup (region);
-- answered
select region, sex, count(*), avg(age) from people group by grouping sets ((region, sex), (region), ());
-- answered
select sum(income) from people where region = any (array['north', 'south']);
-- answered
select count(*) from people where (region, sex) in (('north', 'f'), ('south', 'm'));
-- refused: (SELECT COUNT(*) FROM visits AS v WHERE v.person = id) asks a second table
select count(*) from people p where 2 <= (select count(*) from visits v where v.person = p.id);
-- refused: (SELECT SUM(cost) FROM visits AS v WHERE v.person = id) asks a second
select count(*) from people p where (select sum(cost) from visits v where v.person = p.id) > 500;
-- answered
select count(*) from people where id in (select person from visits where kind = 'urgent');
-- answered
select count(*) from people where id not in (select person from visits);
-- answered
select p.region, count(*) from people p join visits v on v.person = p.id and v.kind = 'urgent' group by p.region;
-- answered
select v.clinic, p.sex, count(*) as n, avg(v.minutes) as m from visits v, people p where v.person = p.id group by v.clinic, p.sex;
-- refused: 'age' would be the value of one row: put it into an aggregate such as
select p.age, v.cost from people p join visits v on v.person = p.id;
-- answered
select clinic, max(cost) - min(cost) as spread from visits group by clinic;
-- answered
select clinic, sum(cost) as c, lag(sum(cost)) over (order by clinic) as prev from visits group by clinic;
-- answered
select year(day) as y, kind, count(*) as n, 100.0 * count(*) / sum(count(*)) over (partition by year(day)) as pct from visits group by y, kind;
-- refused: SUM(cost * minutes) computes on rows, and a row might make that fail: ask
select sum(cost * minutes) from visits;
-- answered
select sum(cost) / sum(minutes) as cost_per_minute from visits;
-- answered
select sum(cost * 1.21) as with_tax from visits;
-- answered
select avg(cost / 100.0) as mean_hundreds from visits;
-- answered
select avg(height * 100) as cm from people;
-- answered
select count(*) from people where height > 1.8;
-- refused: column 'height' (number) is grouped by in bins: CASE WHEN height < … THEN
select round(height, 1) as h, count(*) from people group by 1;
-- refused: ANY_VALUE(sex) is the value of one row, which cannot be private: ask for
select region, any_value(sex) from people group by region;
-- refused: GROUP_CONCAT(region, ',') lists the values of single rows, which cannot be
select listagg(region, ',') from people;
-- answered
select region, count(*) as n, case when count(*) > 600 then 'large' else 'small' end as size from people group by region;
-- answered
select region, count(*) from people group by region having avg(age) > 40;
-- answered
select count(*) as total, count(*) filter (where smokes) as smokers, count(*) filter (where smokes) * 1.0 / count(*) as rate from people where sex = 'f';
-- refused: a subquery groups by the person alone, and its numbers are one for each
select a.region, a.n, b.v from (select region, count(*) as n from people group by region) a join (select p.region, count(*) as v from visits v join people p on p.id = v.person group by p.region) b on a.region = b.region;
-- refused: one table of events is joined with one of their people, by the person
select p.region, count(v.person) * 1.0 / count(distinct p.id) as visits_per_head from people p left join visits v on v.person = p.id group by p.region;
-- refused: a function of a column is written with + - * / %, floor, ceil, round,
select day_of_week(day) as d, count(*) from visits group by 1;
-- answered
select to_char(day, 'YYYY-MM') as ym, sum(cost) from visits group by 1 order by 1;
-- answered
select date_part('year', day) as y, sum(cost) from visits group by date_part('year', day);
-- answered
select strftime(day, '%Y') as y, count(*) from visits group by y;
-- answered
select format_date('%Y', day) as y, count(*) from visits group by y;
-- refused: EXP(AVG(LN(income))) is not known around published numbers: known are + -
select sex, exp(avg(ln(income))) from people group by sex;
-- answered
select kind, sum(cost) - avg(sum(cost)) over () as above_mean from visits group by kind;
-- refused: GROUP BY region: lines are named by what they are grouped by, so SELECT
select first_value(count(*)) over (order by region) from people group by region;
-- answered
select count(*) from visits where day between '2022-03-01' and '2022-03-31' and clinic in ('a','b') and not kind = 'check';
-- answered
select greatest(count(*), 0) from people where age > 99;
-- answered
select region, least(count(*), 500) as capped from people group by region;
-- answered
select pivot_region, n from (select region as pivot_region, count(*) as n from people group by region) q where n > 100;
-- answered
select count(*) from (select distinct person from visits) d;
-- refused: a subquery groups by the person alone, and its numbers are one for each
select count(*) from (select distinct person, clinic from visits) d;
-- answered
select avg(n) from (select person, count(distinct clinic) as n from visits group by person) d;
-- answered
select sum(n) / count(*) from (select person, count(*) as n from visits where urgent = 1 group by person) d;
-- refused: LOGICAL_OR(age > 99) of all rows would change with one row: ask for
select bool_or(age > 99) from people;
-- refused: LOGICAL_AND(age >= 0) of all rows would change with one row: ask for
select every(age >= 0) from people;
-- answered
select 1.0 * sum(case when v.urgent = 1 and p.age >= 65 then 1 else 0 end) / sum(case when p.age >= 65 then 1 else 0 end) from visits v join people p on v.person = p.id;
-- answered
select p.region, round(avg(v.cost), 2) as mean, count(*) as n from visits v left join people p on v.person = p.id group by p.region;
-- answered
select avg(case when kind = 'urgent' then cost end) as mean_urgent from visits;
-- answered
select sum(case kind when 'urgent' then cost end) as total_urgent from visits;
-- refused: might make that fail: ask for each branch as SUM(column) FILTER (WHERE …), and
select avg(case when kind = 'urgent' then cost else 0 end) from visits;
-- refused: tables of people are joined by the person alone
select p.region, count(*) from visits v left join people p on v.person = p.id and p.sex = 'f' group by p.region;
