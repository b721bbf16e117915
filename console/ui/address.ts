/** Keeps page state (filters, sort, page, open panel) in the address, so that reload, back and shared links restore it. */
import { useDisclosure } from "@mantine/hooks";
import { useLocation, useRouter } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";
import type { SearchParameters } from "../paths.ts";

export interface Address {
  readonly search: SearchParameters;
  set(changes: SearchParameters, options?: { replace?: boolean }): void;
}

export function useAddress(): Address {
  const router = useRouter();
  const { search, pathname } = useLocation();
  return {
    search: search as SearchParameters,
    set: (changes, { replace = true } = {}) => {
      const now = router.state.location.search as SearchParameters;
      const next = Object.entries({ ...now, ...changes }).filter(([, value]) => value !== undefined && value !== "");
      void router.navigate({
        to: pathname,
        search: Object.fromEntries(next),
        state: true,
        replace,
        resetScroll: false,
      });
    },
  };
}

/** `?open=NAME` lets other pages link to the dialog. */
export function useOpened(name: string | undefined) {
  const { search, set } = useAddress();
  const { history } = useRouter();
  const [isOpen, { open, close }] = useDisclosure();
  const isInAddress = name !== undefined && search["open"] === name;
  const closeBoth = () => {
    close();
    if (!isInAddress) return;
    set({ open: undefined });
    // Batched with the next navigation, it would be lost, and going back would reopen the dialog.
    history.flush();
  };
  return [isOpen || isInAddress, { open, close: closeBoth }] as const;
}

/** Removes an unavailable dialog from the address. Otherwise it would open unexpectedly later. */
export function useClearedDialog(name: string, isUnavailable: boolean): void {
  const { search, set } = useAddress();
  const isStale = isUnavailable && search["open"] === name;
  const clear = useEffectEvent(() => set({ open: undefined }));
  useEffect(() => {
    if (isStale) clear();
  }, [isStale]);
}
