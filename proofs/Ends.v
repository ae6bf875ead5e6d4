(** * Distances at the ends of a sum

    Under add-remove nobody can join when all people are there. So two sums above (u-1)·v are not
    neighbours, and the distance in the graph is longer there than on a line without ends. The
    expected distance of noise that is held between the ends is what one of three lists gives. *)

From Coq Require Import ZArith List Lia Bool.
From Tightrope Require Import Numbers Exponential Questions Lattice.
Import ListNotations.
Open Scope Z_scope.

Section Sum.
  Variables u v : Z.
  Hypothesis Hu : 1 <= u.
  Hypothesis Hv : 1 <= v.
  Definition inner : Z := (u - 1) * v.
  Definition near_sum (a b : Z) : bool := near_answers (Sum u v) AddRemove [a] [b].
  Definition answer (a : Z) : Prop := 0 <= a <= u * v.

  (** [walk x y d]: from sum x to sum y in d steps. *)
  Inductive walk (x : Z) : Z -> Z -> Prop :=
  | stay : answer x -> walk x x 0
  | step : forall y z d, walk x y d -> answer z -> near_sum y z = true -> walk x z (d + 1).

  Lemma near_sum_is : forall a b, near_sum a b = true <-> (a <> b /\ Z.abs (a - b) <= v /\ Z.min a b <= inner).
  Proof.
    intros a b. unfold near_sum, near_answers, within, inner. cbn [first hd].
    rewrite !andb_true_iff, negb_true_iff, Z.eqb_neq, !Z.leb_le. tauto.
  Qed.

  Lemma walk_back : forall x y d, walk x y d -> walk y x d.
  Proof.
    assert (Hfront : forall x y d, walk x y d -> forall w, answer w -> near_sum w x = true -> walk w y (d + 1)).
    { intros x y d H. induction H as [Hx | y z d Hw IH Hz Hn]; intros w Hw' Hnw.
      - apply (step w w x 0); [now constructor | exact Hx | exact Hnw].
      - apply (step w y z (d + 1)); auto. }
    intros x y d H. induction H as [Hx | y z d Hw IH Hz Hn]; [now constructor|].
    apply (Hfront y x d IH); auto. rewrite near_sum_is in *. lia.
  Qed.

  (** How many steps of at most v lead so far on a line without ends. *)
  Definition steps_to (z : Z) : Z := up (Z.abs z) v.

  Lemma steps_bounds : forall z, Z.abs z <= v * steps_to z < Z.abs z + v.
  Proof. intros. unfold steps_to. apply up_bounds. lia. Qed.

  (** Two sums that are not both above (u-1)·v are as far apart as without ends; others are 2. *)
  Definition far (x y : Z) : Z :=
    if (inner <? x) && (inner <? y) && negb (x =? y) then 2 else steps_to (x - y).

  Lemma down : forall n y, answer y -> 0 <= y - v * Z.of_nat n -> y - v * Z.of_nat n <= inner ->
    walk (y - v * Z.of_nat n) y (Z.of_nat n).
  Proof.
    unfold answer, inner. induction n as [|n IH]; intros y Hy H0 Hi.
    - replace (y - v * Z.of_nat 0) with y by lia. now constructor.
    - replace (Z.of_nat (S n)) with (Z.of_nat n + 1) at 2 by lia.
      destruct n as [|n].
      + apply (step _ (y - v * Z.of_nat 1) y 0); [constructor; unfold answer; lia | exact Hy |].
        apply near_sum_is. unfold inner. lia.
      + apply (step _ (y - v) y); [|exact Hy | apply near_sum_is; unfold inner; nia].
        replace (y - v * Z.of_nat (S (S n))) with (y - v - v * Z.of_nat (S n)) by lia.
        apply IH; nia.
  Qed.

  (** Step to the place that is a multiple of v below y, then up. *)
  Lemma reach_up : forall x y, answer x -> answer y -> x < y -> x <= inner -> walk x y (steps_to (x - y)).
  Proof.
    intros x y Hx Hy Hxy Hi. pose proof (steps_bounds (x - y)) as Hs.
    set (d := steps_to (x - y)) in *. assert (Hd : 1 <= d) by nia.
    set (m := Z.to_nat (d - 1)). assert (Hm : Z.of_nat m = d - 1) by lia.
    set (p := y - v * Z.of_nat m). unfold answer, inner in *.
    assert (Hp : x < p <= x + v) by (unfold p; nia).
    destruct m as [|k] eqn:Em.
    - replace d with (0 + 1) by lia. apply (step x x y 0); [now constructor | exact Hy |].
      apply near_sum_is. unfold inner. nia.
    - assert (Hw : walk p y (Z.of_nat (S k))) by (unfold p; apply down; unfold answer, inner; nia).
      replace d with (Z.of_nat (S k) + 1) by lia.
      apply walk_back. apply walk_back in Hw. apply (step y p x); [exact Hw | exact Hx |].
      apply near_sum_is. unfold inner. lia.
  Qed.

  Lemma no_nearer : forall x y d, walk x y d -> 0 <= d /\ far x y <= d.
  Proof.
    intros x y d H. assert (Hline : 0 <= d /\ Z.abs (x - y) <= v * d).
    { induction H as [Hx | y z d Hw IH Hz Hn]; [lia|]. apply near_sum_is in Hn. nia. }
    split; [lia|]. unfold far. destruct ((inner <? x) && (inner <? y) && negb (x =? y)) eqn:E.
    - apply andb_prop in E as [E E3]. apply andb_prop in E as [E1 E2].
      apply Z.ltb_lt in E1, E2. apply negb_true_iff, Z.eqb_neq in E3.
      inversion H as [Hx | y' z d' Hw Hz Hn]; subst; [contradiction|].
      inversion Hw as [Hx | y'' z d'' Hw' Hz' Hn']; subst; [|].
      + apply near_sum_is in Hn. lia.
      + assert (0 <= d''); [|lia]. clear - Hw'. induction Hw'; lia.
    - pose proof (steps_bounds (x - y)). nia.
  Qed.

  Theorem sum_distance : forall x y, answer x -> answer y ->
    walk x y (far x y) /\ forall d, walk x y d -> far x y <= d.
  Proof.
    intros x y Hx Hy. split; [|intros d Hd; now apply no_nearer].
    unfold far. destruct ((inner <? x) && (inner <? y) && negb (x =? y)) eqn:E.
    - (* Somebody leaves, and somebody comes. *)
      apply andb_prop in E as [E E3]. apply andb_prop in E as [E1 E2]. apply Z.ltb_lt in E1, E2.
      unfold answer, inner in *.
      assert (Hmid : answer ((u - 1) * v)) by (unfold answer; nia).
      apply (step x ((u - 1) * v) y 1); [|exact Hy | apply near_sum_is; unfold inner; nia].
      apply (step x x ((u - 1) * v) 0); [now constructor | exact Hmid | apply near_sum_is; unfold inner; nia].
    - destruct (Z.lt_trichotomy x y) as [Hlt|[->|Hgt]].
      + apply reach_up; auto. destruct (inner <? x) eqn:E1; [|apply Z.ltb_ge in E1; lia].
        apply Z.ltb_lt in E1. replace (inner <? y) with true in E by (symmetry; apply Z.ltb_lt; lia).
        replace (x =? y) with false in E by (symmetry; apply Z.eqb_neq; lia). discriminate.
      + replace (steps_to (y - y)) with 0; [now constructor|]. pose proof (steps_bounds (y - y)). nia.
      + replace (steps_to (x - y)) with (steps_to (y - x)) by (unfold steps_to; f_equal; lia).
        apply walk_back. apply reach_up; auto.
        destruct (inner <? y) eqn:E1; [|apply Z.ltb_ge in E1; lia].
        apply Z.ltb_lt in E1. replace (inner <? x) with true in E by (symmetry; apply Z.ltb_lt; lia).
        replace (x =? y) with false in E by (symmetry; apply Z.eqb_neq; lia). discriminate.
  Qed.

  (** ** Noise that is held between the ends *)
  Definition held (y : Z) : Z := Z.max 0 (Z.min y (u * v)).

  (** What noise z costs at the answer (u-1)·v + s: less than s downwards leads to a sum above
      (u-1)·v, and so does all noise upwards, which stays where it is at the last answer. *)
  Definition at_end (s z : Z) : Z :=
    if z =? 0 then 0 else
    if 0 <? z then (if s <? v then 2 else 0) else
    if - z <? s then 2 else steps_to z.

  Lemma steps_less : forall y z, Z.abs y <= Z.abs z -> steps_to y <= steps_to z.
  Proof. intros. pose proof (steps_bounds y). pose proof (steps_bounds z). nia. Qed.

  (** "Held between the ends, a point is no further in the lattice from any answer." *)
  Theorem held_inside : forall x z, answer x -> x <= inner -> far x (held (x + z)) <= steps_to z.
  Proof.
    intros x z Hx Hi. unfold far. replace (inner <? x) with false by (symmetry; apply Z.ltb_ge; lia).
    cbn [andb]. apply steps_less. unfold held, answer in *. lia.
  Qed.

  Theorem held_at_end : forall s z, 1 <= s <= v -> far (inner + s) (held (inner + s + z)) <= at_end s z.
  Proof.
    intros s z Hs. unfold at_end, far. assert (Huv : u * v = inner + v) by (unfold inner; lia).
    assert (Hin : 0 <= inner) by (unfold inner; nia).
    replace (inner <? inner + s) with true by (symmetry; apply Z.ltb_lt; lia). cbn [andb].
    assert (Hzero : steps_to 0 = 0) by (pose proof (steps_bounds 0); nia).
    destruct (z =? 0) eqn:Ez; [apply Z.eqb_eq in Ez | apply Z.eqb_neq in Ez].
    - replace (held (inner + s + z)) with (inner + s) by (unfold held; lia).
      rewrite Z.eqb_refl, andb_false_r, Z.sub_diag, Hzero. lia.
    - destruct (0 <? z) eqn:Ep; [apply Z.ltb_lt in Ep | apply Z.ltb_ge in Ep].
      + replace (held (inner + s + z)) with (Z.min (inner + s + z) (inner + v)) by (unfold held; lia).
        replace (inner <? Z.min (inner + s + z) (inner + v)) with true by (symmetry; apply Z.ltb_lt; lia).
        cbn [andb]. destruct (inner + s =? Z.min (inner + s + z) (inner + v)) eqn:E; cbn [negb].
        * apply Z.eqb_eq in E. rewrite <- E, Z.sub_diag, Hzero. destruct (s <? v); lia.
        * apply Z.eqb_neq in E. replace (s <? v) with true by (symmetry; apply Z.ltb_lt; lia). lia.
      + destruct (- z <? s) eqn:El; [apply Z.ltb_lt in El | apply Z.ltb_ge in El].
        * replace (held (inner + s + z)) with (inner + s + z) by (unfold held; lia).
          replace (inner <? inner + s + z) with true by (symmetry; apply Z.ltb_lt; lia).
          replace (inner + s =? inner + s + z) with false by (symmetry; apply Z.eqb_neq; lia). cbn. lia.
        * replace (inner <? held (inner + s + z)) with false by (symmetry; apply Z.ltb_ge; unfold held; lia).
          cbn [andb]. apply steps_less. unfold held. lia.
  Qed.

  (** The cost grows with s up to v - 1, so two answers more are looked at. *)
  Theorem worst_end : forall s z, 1 <= s < v -> at_end s z <= at_end (v - 1) z.
  Proof.
    intros s z Hs. unfold at_end. destruct (z =? 0) eqn:Ez; [lia|]. apply Z.eqb_neq in Ez.
    destruct (0 <? z) eqn:Ep.
    - replace (s <? v) with true by (symmetry; apply Z.ltb_lt; lia).
      replace (v - 1 <? v) with true by (symmetry; apply Z.ltb_lt; lia). lia.
    - apply Z.ltb_ge in Ep. destruct (- z <? s) eqn:E1.
      + apply Z.ltb_lt in E1. replace (- z <? v - 1) with true by (symmetry; apply Z.ltb_lt; lia). lia.
      + apply Z.ltb_ge in E1. destruct (- z <? v - 1) eqn:E2; [|lia]. apply Z.ltb_lt in E2.
        pose proof (steps_bounds z). assert (v * steps_to z < v * 2) by lia. nia.
  Qed.

  (** "The worst loss in distance is at most the largest of three sums": of the lattice, and at the
      answers (u-1)·v + v - 1 and u·v. *)
  Theorem worst_distance : forall (weight : Z -> Z) (zs : list Z) x, answer x ->
    (forall z, In z zs -> 0 <= weight z) ->
    let loss g := total zs (fun z => weight z * g z) in
    loss (fun z => far x (held (x + z))) <= loss steps_to
    \/ loss (fun z => far x (held (x + z))) <= loss (at_end (v - 1))
    \/ loss (fun z => far x (held (x + z))) <= loss (at_end v).
  Proof.
    intros weight zs x Hx Hw loss.
    assert (Hmono : forall g h, (forall z, g z <= h z) -> loss g <= loss h).
    { intros g h Hgh. unfold loss. clear loss. induction zs as [|z l IH]; [reflexivity|].
      rewrite !total_cons. assert (0 <= weight z) by (apply Hw; now left).
      specialize (IH (fun z' H' => Hw z' (or_intror H'))). specialize (Hgh z). nia. }
    destruct (Z.le_gt_cases x inner) as [Hi|Hi]; [left; apply Hmono; intros; now apply held_inside|].
    right. assert (Hs : 1 <= x - inner <= v) by (unfold answer, inner in *; nia).
    remember (x - inner) as s eqn:Es. replace x with (inner + s) by lia.
    destruct (Z.eq_dec s v) as [->|Hne]; [right | left]; apply Hmono; intros z.
    - apply held_at_end. lia.
    - apply (Z.le_trans _ (at_end s z)); [now apply held_at_end|]. apply worst_end. lia.
  Qed.
End Sum.
