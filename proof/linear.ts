/**
 * Whether what several callers were told could have been told by one thing that does one operation after the other, each at some
 * moment between its call and its answer (linearizability; the search is Wing and Gong's, with what was tried remembered).
 */

/** One operation on the thing, as its caller saw it. */
export interface Call<Op> {
  readonly op: Op;
  readonly calledMs: number;
  /** Infinity where no answer said how it ended: it may have happened at any later moment, or not at all. */
  readonly answeredMs: number;
  /** Of such a one, where it is known: the last moment at which it may have happened. */
  readonly untilMs?: number;
}

export interface Model<State, Op> {
  readonly initial: State;
  /** The state afterwards; undefined where the operation can't have been answered so in this state. */
  step(state: State, op: Op): State | undefined;
}

export type Linearity =
  | { readonly kind: "linear" }
  | {
      readonly kind: "broken";
      /** The longest beginning that could be explained, in calls, and the first answer past it. */
      readonly explained: number;
      readonly at: number;
    }
  /** There were more ways than anybody can try. */
  | { readonly kind: "undecided" };

/** What was tried: which of the answered calls are done (all up to `done`, and a few past it), which of the open ones, and the state. */
interface Position<State> {
  readonly done: number;
  readonly ahead: readonly number[];
  /** Of those that may have happened at a later moment still, those that have. The others need not be told apart any more. */
  readonly open: readonly number[];
  readonly state: State;
  /** The last of all that is done was called then: what follows happens no earlier. */
  readonly atMs: number;
}

const positionsMax = 400_000;

/** States are compared by their text. */
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

/** The most promising last: what was called first. */
function nextPositions<State extends string, Op>(
  position: Position<State>,
  answered: readonly Call<Op>[],
  open: readonly Call<Op>[],
  model: Model<State, Op>,
): Position<State>[] {
  const { done, ahead, state } = position;
  const isDone = (index: number) => index < done || ahead.includes(index);
  // Whatever happens next was called before the first of the others had its answer.
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
