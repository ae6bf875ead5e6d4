(** * Numbers and finite sums

    Probabilities are real numbers. Nothing below needs more of them than that they are an ordered
    ring into which the integers map, and in which [over z] is 1/z, so the theorems are stated for every such ring: the reals are
    one (Reals.v), and no axiom about them is used. *)

From Coq Require Import ZArith List Ring Lia.
Import ListNotations.

Record numbers := {
  num :> Type;
  zero : num;
  one : num;
  add : num -> num -> num;
  mul : num -> num -> num;
  sub : num -> num -> num;
  opp : num -> num;
  le : num -> num -> Prop;
  ring_laws : ring_theory zero one add mul sub opp eq;
  le_refl : forall a, le a a;
  le_trans : forall a b c, le a b -> le b c -> le a c;
  le_antisym : forall a b, le a b -> le b a -> a = b;
  le_total : forall a b, le a b \/ le b a;
  le_add : forall a b c, le a b -> le (add a c) (add b c);
  le_mul : forall a b, le zero a -> le zero b -> le zero (mul a b);
  of_Z : Z -> num;
  of_Z_one : of_Z 1 = one;
  of_Z_add : forall a b, of_Z (a + b) = add (of_Z a) (of_Z b);
  of_Z_mul : forall a b, of_Z (a * b) = mul (of_Z a) (of_Z b);
  of_Z_le : forall a b, (a <= b)%Z -> le (of_Z a) (of_Z b);
  le_cancel : forall z a b,
    (0 < z)%Z -> le (mul (of_Z z) a) (mul (of_Z z) b) -> le a b;
  over : Z -> num;
  over_law : forall z, (0 < z)%Z -> mul (of_Z z) (over z) = one
}.

Arguments zero {_}. Arguments one {_}. Arguments add {_}. Arguments mul {_}.
Arguments sub {_}. Arguments opp {_}. Arguments le {_}. Arguments of_Z {_}. Arguments over {_}.
Declare Scope num_scope.
Delimit Scope num_scope with num.
Bind Scope num_scope with num.
Infix "+" := add : num_scope.
Infix "*" := mul : num_scope.
Infix "-" := sub : num_scope.
Notation "- a" := (opp a) : num_scope.
Infix "<=" := le : num_scope.
Notation "0" := zero : num_scope.
Notation "1" := one : num_scope.

(** [sum l f] is the sum of [f] over the list [l], [total l f] the same in integers. *)
Definition sum {F : numbers} {A} (l : list A) (f : A -> F) : F :=
  fold_right (fun a rest => (f a + rest)%num) 0%num l.

Definition total {A} (l : list A) (f : A -> Z) : Z :=
  fold_left (fun rest a => (rest + f a)%Z) l 0%Z.

Lemma total_from : forall A (l : list A) f start,
  fold_left (fun rest a => (rest + f a)%Z) l start = (start + total l f)%Z.
Proof.
  unfold total. induction l as [|a l IH]; simpl; intros; [lia|].
  rewrite IH, (IH f (f a)). lia.
Qed.

Lemma total_cons : forall A (a : A) l f, total (a :: l) f = (f a + total l f)%Z.
Proof. intros. unfold total at 1. simpl. rewrite total_from. lia. Qed.

Section Facts.
  Variable F : numbers.
  Add Ring ring_of_numbers : (ring_laws F).
  Local Open Scope num_scope.

  Lemma le_sub : forall a b : F, 0 <= b - a -> a <= b.
  Proof.
    intros a b H. apply (le_add F _ _ a) in H.
    replace (0 + a) with a in H by ring. replace (b - a + a) with b in H by ring. exact H.
  Qed.

  Lemma sub_le : forall a b : F, a <= b -> 0 <= b - a.
  Proof.
    intros a b H. apply (le_add F _ _ (- a)) in H.
    replace (a + - a) with (0 : F) in H by ring.
    replace (b + - a) with (b - a) in H by ring. exact H.
  Qed.

  Lemma add_nonneg : forall a b : F, 0 <= a -> 0 <= b -> 0 <= a + b.
  Proof.
    intros a b Ha Hb. apply (le_trans F _ b); [exact Hb|].
    apply le_sub. replace (a + b - b) with a by ring. exact Ha.
  Qed.

  Lemma add_le : forall a b c d : F, a <= b -> c <= d -> a + c <= b + d.
  Proof.
    intros. apply le_sub. replace (b + d - (a + c)) with ((b - a) + (d - c)) by ring.
    apply add_nonneg; apply sub_le; assumption.
  Qed.

  Lemma mul_le_l : forall a b c : F, 0 <= c -> a <= b -> c * a <= c * b.
  Proof.
    intros. apply le_sub. replace (c * b - c * a) with (c * (b - a)) by ring.
    apply (le_mul F); [|apply sub_le]; assumption.
  Qed.

  Lemma of_Z_zero : of_Z 0 = (0 : F).
  Proof.
    assert (H : of_Z (0 + 0) = of_Z 0 + of_Z 0) by apply (of_Z_add F).
    simpl in H. replace (0 : F) with (of_Z 0 - of_Z 0 : F) by ring. rewrite H at 2. ring.
  Qed.

  Lemma of_Z_sub : forall x y, of_Z (x - y) = of_Z x - of_Z y :> F.
  Proof.
    intros. replace (of_Z x : F) with (of_Z ((x - y) + y) : F) by (f_equal; lia).
    rewrite (of_Z_add F). ring.
  Qed.

  Lemma of_Z_nonneg : forall z, (0 <= z)%Z -> 0 <= (of_Z z : F).
  Proof. intros. rewrite <- of_Z_zero. now apply (of_Z_le F). Qed.

  Lemma over_nonneg : forall z, (0 < z)%Z -> 0 <= (over z : F).
  Proof.
    intros z Hz. apply (le_cancel F z); [exact Hz|]. rewrite (over_law F z Hz).
    replace (of_Z z * 0) with (0 : F) by ring. rewrite <- (of_Z_one F). apply of_Z_nonneg. lia.
  Qed.

  Lemma sum_ext : forall A (l : list A) (f g : A -> F),
    (forall a, In a l -> f a = g a) -> sum l f = sum l g.
  Proof.
    induction l as [|a l IH]; simpl; intros f g H; [reflexivity|].
    rewrite (H a) by auto. f_equal. apply IH. auto.
  Qed.

  Lemma sum_le : forall A (l : list A) (f g : A -> F),
    (forall a, In a l -> f a <= g a) -> sum l f <= sum l g.
  Proof.
    induction l as [|a l IH]; simpl; intros f g H; [apply (le_refl F)|].
    apply add_le; auto.
  Qed.

  Lemma sum_zero : forall A (l : list A), sum l (fun _ => 0) = (0 : F).
  Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.

  Lemma sum_nonneg : forall A (l : list A) (f : A -> F),
    (forall a, In a l -> 0 <= f a) -> 0 <= sum l f.
  Proof. intros. rewrite <- (sum_zero A l). now apply sum_le. Qed.

  Lemma sum_add : forall A (l : list A) (f g : A -> F),
    sum l (fun a => f a + g a) = sum l f + sum l g.
  Proof. induction l as [|a l IH]; simpl; intros; [|rewrite IH]; ring. Qed.

  Lemma sum_sub : forall A (l : list A) (f g : A -> F),
    sum l (fun a => f a - g a) = sum l f - sum l g.
  Proof. induction l as [|a l IH]; simpl; intros; [|rewrite IH]; ring. Qed.

  Lemma sum_mul : forall A (l : list A) (f : A -> F) c,
    sum l (fun a => c * f a) = c * sum l f.
  Proof. induction l as [|a l IH]; simpl; intros; [|rewrite IH]; ring. Qed.

  Lemma sum_swap : forall A B (l : list A) (r : list B) (f : A -> B -> F),
    sum l (fun a => sum r (f a)) = sum r (fun b => sum l (fun a => f a b)).
  Proof.
    induction l as [|a l IH]; simpl; intros; [now rewrite sum_zero|].
    rewrite IH, <- sum_add. reflexivity.
  Qed.

  Lemma sum_filter : forall A (l : list A) (keep : A -> bool) (f : A -> F),
    sum (filter keep l) f = sum l (fun a => if keep a then f a else 0).
  Proof.
    induction l as [|a l IH]; simpl; intros; [reflexivity|].
    destruct (keep a); simpl; rewrite IH; ring.
  Qed.

  Lemma sum_of_Z : forall A (l : list A) (f : A -> Z),
    of_Z (total l f) = sum l (fun a => of_Z (f a)) :> F.
  Proof.
    induction l as [|a l IH]; intros f; [apply of_Z_zero|].
    rewrite total_cons, (of_Z_add F), IH. reflexivity.
  Qed.
End Facts.
