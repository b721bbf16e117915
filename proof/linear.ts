/** Checks linearizability with the search of Wing and Gong, memoizing the positions that were tried. */

export interface Call<Op> {
  readonly op: Op;
  readonly calledMs: number;
  /** Infinity if the outcome is unknown: it can take effect at any later time, or never. */
  readonly answeredMs: number;
  /** The last time at which an operation with an unknown outcome can take effect, if known. */
  readonly untilMs?: number;
}

export interface Model<State, Op> {
  readonly initial: State;
  /** The next state; undefined if this response is impossible in this state. */
  step(state: State, op: Op): State | undefined;
}

export type Linearity =
  | { readonly kind: "linear" }
  | {
      readonly kind: "broken";
      /** The longest linearizable prefix, in calls. */
      readonly explained: number;
      readonly at: number;
    }
  /** The search was too large. */
  | { readonly kind: "undecided" };

/** A node of the search: which completed calls are linearized (all up to `done`, and those in `ahead`), which open ones, and the state. */
interface Position<State> {
  readonly done: number;
  readonly ahead: readonly number[];
  /** Open calls that have taken effect, without those that can no longer do so. */
  readonly open: readonly number[];
  readonly state: State;
  /** Everything that follows takes effect at or after this time. */
  readonly atMs: number;
}

const positionsMax = 400_000;

export function judgeLinearity<State extends string, Op>(
  calls: readonly Call<Op>[],
  model: Model<State, Op>,
): Linearity {
  const byCall = calls.toSorted((one, other) => one.calledMs - other.calledMs);
  const answered = byCall.filter(({ answeredMs }) => answeredMs !== Number.POSITIVE_INFINITY);
  const open = byCall.filter(({ answeredMs }) => answeredMs === Number.POSITIVE_INFINITY);
  const tried = new Set<string>();
  const stack: Position<State>[] = [{ done: 0, ahead: [], open: [], state: model.initial, atMs: 0 }];
  let farthest = 0;
  for (let position = stack.pop(); position !== undefined; position = stack.pop()) {
    if (position.done === answered.length) return { kind: "linear" };
    farthest = Math.max(farthest, position.done);
    const key = `${position.done}|${position.ahead.join()}|${position.open.join()}|${position.state}`;
    if (tried.has(key)) continue;
    if (tried.size >= positionsMax) return { kind: "undecided" };
    tried.add(key);
    stack.push(...nextPositions(position, answered, open, model));
  }
  return { kind: "broken", explained: farthest, at: answered[farthest]?.calledMs ?? 0 };
}

/** Sorted so that the earliest call is tried first. */
function nextPositions<State extends string, Op>(
  position: Position<State>,
  answered: readonly Call<Op>[],
  open: readonly Call<Op>[],
  model: Model<State, Op>,
): Position<State>[] {
  const { done, ahead, state } = position;
  const isDone = (index: number) => index < done || ahead.includes(index);
  // The next call must have started before any other completed.
  let deadline = Number.POSITIVE_INFINITY;
  const candidates: number[] = [];
  for (let index = done; index < answered.length; index += 1) {
    const { calledMs, answeredMs } = answered[index] as Call<Op>;
    if (calledMs > deadline) break;
    if (isDone(index)) continue;
    candidates.push(index);
    deadline = Math.min(deadline, answeredMs);
  }
  const later = (chosen: readonly number[], { calledMs }: Call<Op>) => {
    const atMs = Math.max(position.atMs, calledMs);
    return { atMs, open: chosen.filter((each) => !isOver(open[each] as Call<Op>, atMs)) };
  };
  const found: Position<State>[] = [];
  for (const [index, call] of open.entries()) {
    if (call.calledMs > deadline) break;
    if (isOver(call, position.atMs) || position.open.includes(index)) continue;
    const after = model.step(state, call.op);
    const chosen = [...position.open, index].sort((one, other) => one - other);
    if (after !== undefined && after !== state) found.push({ ...position, ...later(chosen, call), state: after });
  }
  for (const index of candidates.toReversed()) {
    const { op, calledMs } = answered[index] as Call<Op>;
    const after = calledMs > deadline ? undefined : model.step(state, op);
    const all = { ...advanced(done, ahead, index), ...later(position.open, answered[index] as Call<Op>) };
    if (after !== undefined) found.push({ ...position, ...all, state: after });
  }
  return found;
}

const isOver = ({ untilMs = Number.POSITIVE_INFINITY }: Call<unknown>, atMs: number): boolean => untilMs < atMs;

function advanced(done: number, ahead: readonly number[], index: number): Pick<Position<string>, "done" | "ahead"> {
  const all = new Set([...ahead, index]);
  let next = done;
  while (all.delete(next)) next += 1;
  return { done: next, ahead: [...all].sort((one, other) => one - other) };
}
