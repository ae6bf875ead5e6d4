(** * Questions: their answers in order, and which answers are neighbours

    Tables.v proves for the questions about people that these are the answers of neighbouring
    tables. An answer is a list of whole numbers; single numbers are lists of one. *)

From Coq Require Import ZArith List Lia Bool.
Import ListNotations.
Open Scope Z_scope.

Inductive relation := ChangeOne | AddRemove | Either.

Inductive question :=
| Count (n : Z) | Sum (u v : Z) | Mean (u v : Z) | Counts (n k : Z) | Histogram (n c : Z)
| CountMod (n m : Z) | Choice (c : Z) | Star (k : Z) | Tree (b h : Z)
| Path (n : Z) | Cycle (n : Z) | Clique (n : Z) | Grid (sides : list Z).

(** 0, 1, … n-1. *)
Fixpoint count_from (n : nat) (i : Z) : list Z :=
  match n with O => [] | S m => i :: count_from m (i + 1) end.
Definition range (n : Z) : list Z := count_from (Z.to_nat n) 0.

Lemma in_count_from : forall n i x, In x (count_from n i) <-> i <= x < i + Z.of_nat n.
Proof. induction n as [|n IH]; intros; cbn [count_from In]; [lia|]. rewrite IH. lia. Qed.

Lemma count_from_length : forall n i, length (count_from n i) = n.
Proof. induction n as [|n IH]; intros; [reflexivity|]. cbn [count_from length]. now rewrite IH. Qed.

Lemma in_range : forall n x, In x (range n) <-> 0 <= x < n.
Proof. intros. unfold range. rewrite in_count_from. lia. Qed.

Definition singles (n : Z) : list (list Z) := map (fun i => [i]) (range n).

(** Tuples in lexicographic order, coordinate by coordinate 0 … side-1. *)
Fixpoint tuples (sides : list Z) : list (list Z) :=
  match sides with
  | [] => [[]]
  | s :: rest => flat_map (fun x => map (cons x) (tuples rest)) (range s)
  end.

(** Tuples of c numbers with sum n, and with a sum of at most n. *)
Fixpoint exactly (c : nat) (n : Z) : list (list Z) :=
  match c with
  | O => []
  | S O => [[n]]
  | S d => flat_map (fun x => map (cons x) (exactly d (n - x))) (range (n + 1))
  end.
Fixpoint at_most (c : nat) (n : Z) : list (list Z) :=
  match c with
  | O => [[]]
  | S d => flat_map (fun x => map (cons x) (at_most d (n - x))) (range (n + 1))
  end.

(** A tree of branching b and height h has 1 + b + … + b^h nodes. *)
Fixpoint tree_size (b : Z) (h : nat) : Z :=
  match h with O => 1 | S m => 1 + b * tree_size b m end.

Definition answers_of (q : question) (r : relation) : list (list Z) :=
  match q with
  | Count n => singles (n + 1)
  | Sum u v | Mean u v => singles (u * v + 1)
  | Counts n k => tuples (repeat (n + 1) (Z.to_nat k))
  | Histogram n c =>
      match r with
      | ChangeOne => exactly (Z.to_nat c) n
      | _ => at_most (Z.to_nat c) n
      end
  | CountMod n m => singles (Z.min (n + 1) m)
  | Choice c | Path c | Cycle c | Clique c => singles c
  | Star k => singles (k + 1)
  | Tree b h => singles (tree_size b (Z.to_nat h))
  | Grid sides => tuples sides
  end.

(** The labels are these numbers over one denominator. *)
Definition denominator (q : question) : Z := match q with Mean u _ => u | _ => 1 end.

Definition first (x : list Z) : Z := hd 0 x.
Definition same (x y : list Z) : bool := if list_eq_dec Z.eq_dec x y then true else false.
Definition differences (x y : list Z) : list Z := map (fun p => fst p - snd p) (combine x y).
Definition others (d : list Z) : list Z := filter (fun z => negb (z =? 0)) d.

(** Two numbers that differ by 1 … v. *)
Definition within (v a b : Z) : bool := negb (a =? b) && (Z.abs (a - b) <=? v).

Definition moved (r : relation) (d : list Z) : bool :=
  let d := others d in
  let one := match d with [z] => Z.abs z =? 1 | _ => false end in
  let two := match d with [y; z] => (Z.abs y =? 1) && (y + z =? 0) | _ => false end in
  match r with ChangeOne => two | AddRemove => one | Either => one || two end.

(** One more person, who adds 0 or 1 to each number, makes y of x: there are at most n people, so
    at most n - 1 before. *)
Definition joins (n : Z) (x y : list Z) : bool :=
  forallb (fun z => (0 <=? z) && (z <=? 1)) (differences y x) && forallb (fun z => z <=? n - 1) x.

Definition near_answers (q : question) (r : relation) (x y : list Z) : bool :=
  let a := first x in
  let b := first y in
  match q with
  | Count _ | Path _ => within 1 a b
  | Sum u v =>
      within v a b && match r with AddRemove => Z.min a b <=? (u - 1) * v | _ => true end
  | Mean _ v => within v a b
  | Counts n _ =>
      negb (same x y) &&
      match r with
      | AddRemove => joins n x y || joins n y x
      | _ => forallb (fun z => Z.abs z <=? 1) (differences x y)
      end
  | Histogram _ _ => moved r (differences x y)
  | CountMod n m => within 1 a b || ((m <=? n) && within (m - 1) a b && (Z.abs (a - b) =? m - 1))
  | Choice _ | Clique _ => negb (a =? b)
  | Star _ => negb (a =? b) && ((a =? 0) || (b =? 0))
  | Tree b0 _ => negb (a =? b) && (((0 <? b) && ((b - 1) / b0 =? a)) || ((0 <? a) && ((a - 1) / b0 =? b)))
  | Cycle n => negb (a =? b) && ((Z.abs (a - b) =? 1) || (Z.abs (a - b) =? n - 1))
  | Grid _ => match others (differences x y) with [z] => Z.abs z =? 1 | _ => false end
  end.
