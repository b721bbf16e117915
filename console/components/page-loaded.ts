/** Delays what the frame of a page requests until the page's own requests have ended. */
import { useIsFetching } from "@tanstack/react-query";
import { useEffect, useState } from "react";

const quietMs = 1_000;

export function useIsPageLoaded(): boolean {
  const isFetching = useIsFetching() > 0;
  const [isLoaded, setLoaded] = useState(false);
  useEffect(() => {
    if (isLoaded || isFetching) return;
    const timer = setTimeout(() => setLoaded(true), quietMs);
    return () => clearTimeout(timer);
  }, [isFetching, isLoaded]);
  return isLoaded;
}
