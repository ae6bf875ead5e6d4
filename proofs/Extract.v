(** * The judge as a program

    Integers become those of Zarith. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
From Tightrope Require Import Numbers Exponential Questions Judge Lattice Tuples Shown Limits Scores.

Extraction "kernel.ml" check table near levels which cost_unit cost alpha_of answers_of denominator line_of check_noise lattice_of check_tuples check_shown judge_scores steps_of check_gains check_limit.
