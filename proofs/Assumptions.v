(** * What the theorems assume: nothing *)
From Tightrope Require Import Duality Exponential Distances Soundness Tables Lattice Ends Layers Tuples Shown Limits.

Print Assumptions private_along_paths.
Print Assumptions weak_duality.
Print Assumptions worst_case.
Print Assumptions weak_duality_slack.
Print Assumptions weak_duality_limit.
Print Assumptions private_sum.
Print Assumptions private_remap.
Print Assumptions below_exp.
Print Assumptions alpha_exp.
Print Assumptions judge_sound.
Print Assumptions distances_hold.
Print Assumptions sum_graph.
Print Assumptions count_graph.
Print Assumptions choice_graph.
Print Assumptions noise_private.
Print Assumptions noise_rows.
Print Assumptions noise_sound.
Print Assumptions layers_around.
Print Assumptions tuples_rows.
Print Assumptions tuples_private.
Print Assumptions lattice_steps.
Print Assumptions tuples_sound.
Print Assumptions counts_graph.
Print Assumptions histogram_join.
Print Assumptions histogram_change.
Print Assumptions moved_one.
Print Assumptions moved_two.
Print Assumptions own_gains.
Print Assumptions limit_kept.
Print Assumptions limited_bound.
Print Assumptions sum_distance.
Print Assumptions worst_distance.
Print Assumptions shown_rows.
Print Assumptions shown_excess.
Print Assumptions shown_sound.
