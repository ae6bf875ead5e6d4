-- Three tables about the same people: one job, planned together, that adds up.
-- name: regions
-- weight: 2
select region, count(*) as n from people group by region;

-- name: smokers
select sex, smokes, count(*) as n from people group by sex, smokes;

-- name: smokers by region
select region, smokes, count(*) as n from people group by region, smokes;
