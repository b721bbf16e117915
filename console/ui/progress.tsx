/** A line at the top while something is on its way for the first time. What comes quickly shows none: it begins after a moment. */
import { useIsFetching } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";

const afterMs = 300;

export function Progress() {
  const isTurning = useRouterState({ select: ({ isLoading }) => isLoading });
  // What is read anew is on the page already.
  const isNew = useIsFetching({ predicate: ({ state }) => state.data === undefined }) > 0;
  const isShown = useLasting(isTurning || isNew);
  return <div className="progress">{isShown && <div role="progressbar" aria-label="Loading" />}</div>;
}

/** True once it has been so for a moment; false at once. */
function useLasting(value: boolean): boolean {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (!value) return;
    const timer = setTimeout(() => setLong(true), afterMs);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [value]);
  return value && isLong;
}
