/** A phase's log for a page: from the run's stream while it grows, else read in pieces by its own address. */
import { useEffect, useEffectEvent, useState, useSyncExternalStore } from "react";
import type { LogLine } from "./log-lines.ts";
import { type LogKind, LogReading, type RunStream } from "./run-stream.ts";

const pauseMs = 3_000;

export interface Log {
  readonly lines: readonly LogLine[];
  readonly dropped: number;
  readonly hasEnded: boolean;
  /** Reading on would drop the line that was asked for. */
  readonly isPaused: boolean;
  readonly readOn: () => void;
  readonly error: unknown;
}

export interface LogSource {
  readonly kind: LogKind;
  /** Signed anew with each document. */
  readonly address: string;
  readonly stream: RunStream | undefined;
  /** Whether the run has ended: nothing more comes by the stream. */
  readonly isOver: boolean;
}

const never = () => () => {};
const noTurn = () => 0;

export function useLog({ kind, address, stream, isOver }: LogSource, line: number | undefined): Log {
  const [isGoingOn, setGoingOn] = useState(line === undefined);
  useSyncExternalStore(stream?.subscribe ?? never, stream?.turn ?? noTurn);
  const streamed = stream?.logs[kind];
  // A run may end before the last lines were polled: then the log is read from its beginning.
  const isStreamed = streamed !== undefined && (!isOver || streamed.lines.hasEnded);
  const keptLine = isGoingOn ? undefined : line;
  const read = useReading(address, { isNeeded: !isStreamed, keptLine });
  const log = isStreamed ? streamed : read.log;
  useEffect(() => log.keep(keptLine), [log, keptLine]);
  return {
    lines: log.lines.lines,
    dropped: log.lines.dropped,
    hasEnded: log.lines.hasEnded,
    isPaused: log.isPaused,
    readOn: () => {
      setGoingOn(true);
      if (isStreamed) stream?.readOn(kind);
    },
    error: isStreamed ? undefined : read.error,
  };
}

interface ReadingOptions {
  readonly isNeeded: boolean;
  readonly keptLine: number | undefined;
}

/** A log that has ended, or that no stream has, to its end. */
function useReading(address: string, { isNeeded, keptLine }: ReadingOptions) {
  const [log] = useState(() => new LogReading());
  const newestAddress = useEffectEvent(() => address);
  const [, setTurn] = useState(0);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (!isNeeded) return;
    const stopped = new AbortController();
    log.keep(keptLine);
    const step = async (): Promise<boolean> => {
      const hasMore = await log.readPiece(newestAddress(), stopped.signal);
      setError(undefined);
      setTurn((turn) => turn + 1);
      return hasMore;
    };
    const follow = async () => {
      while (!stopped.signal.aborted && !log.lines.hasEnded && !log.isPaused) {
        const hasMore = await step().catch((failure: unknown) => {
          if (!stopped.signal.aborted) setError(failure);
          return false;
        });
        if (!hasMore && !log.lines.hasEnded) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    void follow();
    return () => stopped.abort();
  }, [log, isNeeded, keptLine]);
  return { log, error };
}
