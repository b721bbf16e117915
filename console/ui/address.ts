/** The state of a page is in its address: filters, sort, page, an open panel. Reloaded, shared and gone back to, it is the same page. */
import { useDisclosure } from "@mantine/hooks";
import { useLocation, useRouter } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";
import type { Search } from "../paths.ts";

export interface Address {
  readonly search: Search;
  /** Absent and empty are the same: neither is in the address. */
  set(changes: Search, options?: { replace?: boolean }): void;
}

export function useAddress(): Address {
  const router = useRouter();
  const { search, pathname } = useLocation();
  return {
    search: search as Search,
    set: (changes, { replace = true } = {}) => {
      const now = router.state.location.search as Search;
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

/** A dialog that a button of the page opens, or its address with `?open=NAME`, so that other pages can lead to it. */
export function useOpened(name: string | undefined) {
  const { search, set } = useAddress();
  const { history } = useRouter();
  const [isOpen, { open, close }] = useDisclosure();
  const isInAddress = name !== undefined && search["open"] === name;
  const closeBoth = () => {
    close();
    if (!isInAddress) return;
    set({ open: undefined });
    // Written at once: together with a visit to another page that follows, it would be left out, and going back would open it again.
    history.flush();
  };
  return [isOpen || isInAddress, { open, close: closeBoth }] as const;
}

/** Takes `?open=NAME` out of the address where that dialog can't be shown, so that it doesn't open by itself once it can. */
export function useForgotten(name: string, isForgotten: boolean): void {
  const { search, set } = useAddress();
  const isStale = isForgotten && search["open"] === name;
  const forget = useEffectEvent(() => set({ open: undefined }));
  useEffect(() => {
    if (isStale) forget();
  }, [isStale]);
}
