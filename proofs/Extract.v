(** * The judge as a program

    Integers become those of Zarith, texts those of OCaml. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNativeString.
From Tightrope Require Import Exponential Judge Limits Header.

Extraction "kernel.ml" judge fine table levels which cost_unit cost alpha_of parts limited_cost.
