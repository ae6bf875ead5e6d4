-- One day's job on the table fair: nine questions that share one ε.
-- name: women with an affair
select count(*) as women from fair where affairs > 0;

-- name: religiousness and affairs
select religious, case when affairs > 0 then 'yes' else 'no' end as affair, count(*) as women
from fair group by religious, affair;

-- name: age groups
select case when age < 20 then 'under 20' when age < 30 then '20 to 29' when age < 40 then '30 to 39'
       else '40 and over' end as age_group, count(*) as women
from fair group by age_group;

-- name: occupations
select occupation, count(*) as women from fair group by occupation;

-- name: years of education, together
select sum(educ) as years from fair;

-- name: years of education, on average
select avg(educ) as years from fair;

-- name: years of education, median
select median(educ) as years from fair;

-- name: commonest occupation
select occupation from fair group by occupation order by count(*) desc limit 1;

-- name: years of education by religiousness
select religious, avg(educ) as years from fair group by religious;
