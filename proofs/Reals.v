(** * The real numbers are numbers in this sense

    Nothing else rests on this file: it only shows that the theorems, which hold for all [numbers],
    hold for the reals of Coq's library, whose own axioms are the only ones it uses. *)

From Coq Require Import ZArith Reals RealField Lra.
From Tightrope Require Import Numbers.
Open Scope R_scope.

Lemma cancel : forall (z : Z) a b, (0 < z)%Z -> IZR z * a <= IZR z * b -> a <= b.
Proof. intros z a b Hz H. apply Rmult_le_reg_l with (IZR z); [now apply IZR_lt | exact H]. Qed.

Lemma inverse : forall z : Z, (0 < z)%Z -> IZR z * / IZR z = 1.
Proof. intros z Hz. apply Rinv_r. apply IZR_lt in Hz. lra. Qed.

Lemma total_order : forall a b, a <= b \/ b <= a.
Proof. intros. lra. Qed.

Definition reals : numbers := {|
  num := R; zero := 0; one := 1; add := Rplus; mul := Rmult; sub := Rminus; opp := Ropp; le := Rle;
  ring_laws := RTheory; le_refl := Rle_refl; le_trans := Rle_trans; le_antisym := Rle_antisym;
  le_total := total_order; le_add := fun a b c H => Rplus_le_compat_r c a b H;
  le_mul := Rmult_le_pos; of_Z := IZR; of_Z_one := eq_refl; of_Z_add := plus_IZR; of_Z_mul := mult_IZR;
  of_Z_le := IZR_le; le_cancel := cancel; over := fun z => / IZR z; over_law := inverse
|}.
