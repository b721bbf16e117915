/** The things that callers fight over, as they ought to be: a value that is written and read, and a lock. */
import type { Model } from "./linear.ts";

export type RegisterOp =
  | { readonly kind: "write"; readonly value: string }
  | { readonly kind: "read"; readonly value: string };

export const register = (initial: string): Model<string, RegisterOp> => ({
  initial,
  step: (state, { kind, value }) => (kind === "write" ? value : state === value ? state : undefined),
});

/** A holder is its name, a colon, and which of its locks it is. */
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
