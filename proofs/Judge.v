(** * A judge of mechanism files, and the theorem that it may be believed

    [check f = true] implies what the theorem [judge_sound] at the end says. The numbers of a file
    are handed over as functions. Some arguments are hints, which the judge tests: whoever makes
    them need not be trusted. *)

From Coq Require Import ZArith List Ring Lia Bool.
From Tightrope Require Import Numbers Duality Exponential Questions.
Import ListNotations.
Open Scope Z_scope.

(** ** What a file says *)

Inductive loss_kind :=
| Binary | Absolute | Squared | Distance
| Listed (D : Z) (L : Z -> Z -> Z).          (* L k i over D: guess k under answer i *)

Record own_graph := {
  joined : Z -> Z -> bool;                   (* an edge i < h *)
  place : Z -> Z -> Z;                       (* the place of its length *)
  lengths : list (Z * Z)
}.

Record consumer := {
  prior : option ((Z -> Z) * Z);             (* π_i over its total *)
  support : option (Z -> bool);              (* the possible answers of a risk-averse consumer *)
  loss : loss_kind;
  guesses : Z;
  guess_of : Z -> Z;                         (* the guess made for each output *)
  expected_loss : Z * Z
}.

(** Prices and multipliers are over [scale]·(total of the prior)·(denominator of the loss). *)
Record certificate := {
  scale : Z;
  price : Z -> Z;
  multiplier : Z -> Z -> Z -> Z;             (* m_k(i→h) *)
  arcs : list (Z * Z);                       (* where the file lists multipliers *)
  bound : Z * Z
}.

Record file := {
  asked : (question * relation) + own_graph;
  nodes : Z;
  label : Z -> list Z;                       (* hint: the answers in order *)
  label_unit : Z;
  distance : Z -> Z -> Z;                    (* hint: for the loss by distance *)
  epsilon : level;
  delta : option (Z * Z);
  ratios : list (Z * Z);
  bits : Z;
  outputs : Z;
  weight : Z -> Z -> Z;                      (* W[i,o] *)
  whose : option consumer;
  proof : option certificate
}.

Section Reading.
  Variable f : file.

  Definition answers : list Z := range (nodes f).

  Definition near (i h : Z) : bool :=
    match asked f with
    | inl (q, r) => near_answers q r (label f i) (label f h) || near_answers q r (label f h) (label f i)
    | inr g => joined g (Z.min i h) (Z.max i h)
    end.

  Definition times (l : level) (length : Z * Z) : level :=
    match l with
    | Natural a b => Natural (a * fst length) (b * snd length)
    | Power r s n d => Power (r * Z.to_nat (fst length)) (s * Z.to_nat (snd length)) n d
    end.

  (** ε·length for each length, and the place of the length of an edge. *)
  Definition levels : list level :=
    match asked f with
    | inl _ => [epsilon f]
    | inr g => map (times (epsilon f)) (lengths g)
    end.
  Definition which (i h : Z) : nat :=
    match asked f with
    | inl _ => O
    | inr g => Z.to_nat (place g (Z.min i h) (Z.max i h))
    end.
  Definition level_of (i h : Z) : level := nth (which i h) levels (Natural 0 1).
  Definition ratio_of (i h : Z) : Z * Z := nth (which i h) (ratios f) (1, 1).

  Definition total_weight : Z := 2 ^ bits f.

  (** The loss of guess k under answer i, over [loss_unit]. *)
  Definition loss_unit (c : consumer) : Z :=
    match loss c with
    | Binary | Distance => 1
    | Absolute => label_unit f
    | Squared => label_unit f * label_unit f
    | Listed D _ => D
    end.
  Definition loss_at (c : consumer) (k i : Z) : Z :=
    match loss c with
    | Binary => if k =? i then 0 else 1
    | Distance => distance f k i
    | Absolute => total (differences (label f k) (label f i)) Z.abs
    | Squared => total (differences (label f k) (label f i)) (fun z => z * z)
    | Listed _ L => L k i
    end.
  Definition prior_of (c : consumer) : (Z -> Z) * Z :=
    match prior c with Some p => p | None => (fun _ => 1, 1) end.
  Definition cost (c : consumer) (k i : Z) : Z := fst (prior_of c) i * loss_at c k i.
  Definition cost_unit (c : consumer) : Z := snd (prior_of c) * loss_unit c.
End Reading.

(** ** The judge *)

(** Every answer with its neighbours. *)
Definition table (f : file) : list (Z * list Z) :=
  map (fun i => (i, filter (near f i) (answers f))) (answers f).

Definition all_pairs (t : list (Z * list Z)) (test : Z -> Z -> bool) : bool :=
  forallb (fun row => forallb (test (fst row)) (snd row)) t.

Definition check_labels (f : file) : bool :=
  match asked f with
  | inl (q, r) =>
      (label_unit f =? denominator q) && (nodes f =? Z.of_nat (length (answers_of q r))) &&
      forallb (fun p => same (label f (fst p)) (snd p)) (combine (answers f) (answers_of q r))
  | inr _ => true
  end.

Definition check_ratios (f : file) : bool :=
  Nat.eqb (length (levels f)) (length (ratios f)) &&
  forallb (fun p => sound (fst p) && (snd (snd p) <=? fst (snd p))
    && below (fst p) (fst (snd p)) (snd (snd p))) (combine (levels f) (ratios f)).

Definition check_rows (f : file) : bool :=
  let outs := range (outputs f) in
  let whole := total_weight f in
  forallb (fun i => forallb (fun o => 0 <=? weight f i o) outs
    && (total outs (weight f i) =? whole)) (answers f).

(** W[i,o]·q <= W[h,o]·p for neighbours and every output; with δ = a/b what exceeds it is added up
    over the outputs, and is at most δ·q·2^bits. *)
Definition check_private (f : file) (t : list (Z * list Z)) : bool :=
  let outs := range (outputs f) in
  all_pairs t (fun i h =>
    Nat.ltb (which f i h) (length (ratios f)) &&
    let '(p, q) := ratio_of f i h in
    match delta f with
    | None => forallb (fun o => weight f i o * q <=? weight f h o * p) outs
    | Some (a, b) => (0 <=? a) && (0 <? b) &&
        (total outs (fun o => Z.max 0 (weight f i o * q - weight f h o * p)) * b
          <=? a * (q * total_weight f))
    end).

Definition check_distances (f : file) (t : list (Z * list Z)) : bool :=
  forallb (fun k => (distance f k k =? 0) &&
    forallb (fun row => let '(i, near) := row in
      ((i =? k) || existsb (fun h => distance f k h + 1 =? distance f k i) near) &&
      (0 <=? distance f k i) &&
      forallb (fun h => distance f k i <=? distance f k h + 1) near) t) (answers f).

Definition equal (x y : Z * Z) : bool := (0 <? snd x) && (0 <? snd y) && (fst x * snd y =? fst y * snd x).

Definition check_consumer (f : file) (t : list (Z * list Z)) (c : consumer) : bool :=
  let outs := range (outputs f) in
  (0 <? loss_unit f c) &&
  match loss c with
  | Listed _ _ => true
  | Distance => (guesses c =? nodes f) && check_distances f t
  | _ => guesses c =? nodes f
  end &&
  forallb (fun o => (0 <=? guess_of c o) && (guess_of c o <? guesses c)) outs &&
  match prior c with
  | None => true
  | Some (p, all) => (0 <? all) && forallb (fun i => 0 <=? p i) (answers f)
      && (total (answers f) p =? all)
  end &&
  match support c with
  | None => match prior c with
    | None => false
    | Some _ =>
        equal (expected_loss c)
          (total outs (fun o => total (answers f) (fun i => cost f c (guess_of c o) i * weight f i o)),
           cost_unit f c * total_weight f)
    end
  | Some possible =>
      let row i := total outs (fun o => loss_at f c (guess_of c o) i * weight f i o) in
      let here := filter possible (answers f) in
      let '(a, b) := expected_loss c in
      let unit := loss_unit f c * total_weight f in
      match prior c with
      | None => true
      | Some (p, _) => forallb (fun i => possible i || (p i =? 0)) (answers f)
      end &&
      (0 <? b) &&
      forallb (fun i => row i * b <=? a * unit) here &&
      existsb (fun i => row i * b =? a * unit) here
  end.

Definition m_of (p : certificate) (k i h : Z) : Z := Z.max 0 (multiplier p k i h).

(** The largest multiplier of an arc over all guesses. *)
Definition largest (p : certificate) (ks : list Z) (i h : Z) : Z :=
  fold_right (fun k most => Z.max most (m_of p k i h)) 0 ks.

Definition check_proof (f : file) (t : list (Z * list Z)) (c : consumer) (p : certificate) : bool :=
  let ks := range (guesses c) in
  let alphas := map alpha_of (levels f) in
  let alpha i h := nth (which f i h) alphas 0 in
  let unit := cost_unit f c * scale p in
  let one := 2 ^ 62 in
  match prior c with None => false | Some _ => true end &&
  (0 <? scale p) &&
  forallb (fun arc => near f (fst arc) (snd arc)) (arcs p) &&
  forallb (fun k => forallb (fun row => let '(i, around) := row in
    total around (fun h => one * m_of p k h i - alpha i h * m_of p k i h)
      <=? one * (cost f c k i * scale p - price p i)) t) ks &&
  match delta f with
  | None => equal (bound p) (total (answers f) (price p), unit)
  | Some (a, b) =>
      let lost := total t (fun row => total (snd row)
        (fun h => alpha (fst row) h * largest p ks (fst row) h)) in
      equal (bound p)
        (total (answers f) (price p) * (b * 2 ^ 62) - a * lost, unit * (b * 2 ^ 62))
  end.

Definition check (f : file) : bool :=
  let t := table f in
  (0 <? nodes f) && (0 <=? bits f) && check_labels f && check_ratios f && check_rows f
  && check_private f t &&
  match whose f with
  | None => match proof f with None => true | Some _ => false end
  | Some c => check_consumer f t c &&
      match proof f with None => true | Some p => check_proof f t c p end
  end.
