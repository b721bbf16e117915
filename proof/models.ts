/** The sequential models for the linearizability check: a register and a lock. */
import type { Model } from "./linear.ts";

export type RegisterOp =
  | { readonly kind: "write"; readonly value: string }
  | { readonly kind: "read"; readonly value: string };

export const register = (initial: string): Model<string, RegisterOp> => ({
  initial,
  step: (state, { kind, value }) => (kind === "write" ? value : state === value ? state : undefined),
});

/** A holder is `name:number`. */
export type LockOp =
  | { readonly kind: "lock"; readonly holder: string; readonly isDone: boolean }
  | { readonly kind: "unlock"; readonly by: string; readonly isDone: boolean }
  | { readonly kind: "read"; readonly holder: string };

export const nobody = "";

export const lock: Model<string, LockOp> = {
  initial: nobody,
  step: (state, op) => {
    if (op.kind === "read") return op.holder === state ? state : undefined;
    if (op.kind === "lock") {
      const isFree = state === nobody;
      if (op.isDone) return isFree ? op.holder : undefined;
      return isFree ? undefined : state;
    }
    const isOwn = state !== nobody && state.split(":")[0] === op.by;
    if (op.isDone) return isOwn ? nobody : undefined;
    return isOwn ? undefined : state;
  },
};
