/** A phase's log as it grows: read by offset, in pieces, and asked for again until it has ended. */
import { useEffect, useRef, useState } from "react";
import { bytesAt } from "../../api/client.ts";
import { LogLines, type LogLine } from "./log-lines.ts";

const pauseMs = 1_000;
const pieceBytes = 256 * 1024;
/** How many lines are read on after the one that the address names, before reading waits for a word. */
const linesAfter = 5_000;

export interface Log {
  readonly lines: readonly LogLine[];
  readonly dropped: number;
  readonly hasEnded: boolean;
  /** Reading on would let the line go that was asked for. */
  readonly isPaused: boolean;
  readonly readOn: () => void;
  readonly error: unknown;
}

/** The address is signed anew with each document; the log stays the same, so the newest one is used. */
export function useLog(phaseId: string, address: string, line: number | undefined): Log {
  const latest = useRef(address);
  latest.current = address;
  const [isGoingOn, setGoingOn] = useState(line === undefined);
  const [, setTurn] = useState(0);
  const [error, setError] = useState<unknown>();
  const read = useRef({ log: new LogLines(), offset: 0 });
  const kept = isGoingOn ? undefined : line;
  const isPaused = () => {
    const { log } = read.current;
    return kept !== undefined && log.isFull && kept + linesAfter <= (log.lines.at(-1)?.number ?? 0);
  };
  useEffect(() => {
    const stopped = new AbortController();
    const state = read.current;
    const step = async (): Promise<number> => {
      const from = `${latest.current}?offset=${state.offset}&limit=${pieceBytes}`;
      const bytes = await bytesAt(from, stopped.signal);
      setError(undefined);
      if (bytes.length === 0) return pauseMs;
      state.offset += bytes.length;
      state.log.add(bytes);
      setTurn((turn) => turn + 1);
      return bytes.length < pieceBytes ? pauseMs / 4 : 0;
    };
    const follow = async () => {
      while (!stopped.signal.aborted && !state.log.hasEnded && !isPaused()) {
        const wait = await step().catch((failure: unknown) => {
          if (!stopped.signal.aborted) setError(failure);
          return pauseMs * 3;
        });
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      }
    };
    void follow();
    return () => stopped.abort();
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [phaseId, isGoingOn]);
  const { log } = read.current;
  return {
    lines: log.lines,
    dropped: log.dropped,
    hasEnded: log.hasEnded,
    isPaused: isPaused(),
    readOn: () => setGoingOn(true),
    error,
  };
}
