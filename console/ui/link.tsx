/** Links that behave like real ones (new tab, copy, hover) and navigate without a reload. */
import { Anchor, Box, Button, NavLink, type AnchorProps, type ButtonProps, type NavLinkProps } from "@mantine/core";
import { useLocation, useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import classes from "./link.module.css";

export const prefix = "/app";

type LinkTarget = { readonly to: string; readonly children?: ReactNode };

export function useGo(): (to: string, options?: { replace?: boolean }) => void {
  const router = useRouter();
  return (to, options) => void router.navigate({ href: to, ...options });
}

function useLink(to: string) {
  const go = useGo();
  return {
    href: `${prefix}${to}`,
    onClick: (event: MouseEvent<HTMLAnchorElement>) => {
      if (
        event.defaultPrevented ||
        event.button !== 0 ||
        event.metaKey ||
        event.ctrlKey ||
        event.shiftKey ||
        event.altKey
      )
        return;
      event.preventDefault();
      go(to);
    },
  };
}

export function Link({ to, ...rest }: LinkTarget & AnchorProps & { title?: string; "aria-label"?: string }) {
  return <Anchor inherit {...useLink(to)} {...rest} />;
}

export function LinkButton({ to, ...rest }: LinkTarget & ButtonProps) {
  return <Button component="a" {...useLink(to)} {...rest} />;
}

export function NavigationLink({ to, ...rest }: Omit<LinkTarget, "children"> & NavLinkProps) {
  return <NavLink {...useLink(to)} {...rest} />;
}

export interface Tab {
  readonly to: string;
  readonly label: string;
}

function useCurrentTab(tabs: readonly Tab[]): Tab | undefined {
  const { pathname } = useLocation();
  return tabs.filter(({ to }) => isWithin(pathname, to)).sort((a, b) => b.to.length - a.to.length)[0];
}

export function useCurrentTabLabel(tabs: readonly Tab[] = []): string | undefined {
  const here = useCurrentTab(tabs);
  return here === tabs[0] ? undefined : here?.label;
}

export function PageTabs({ tabs }: { readonly tabs: readonly Tab[] }) {
  const here = useCurrentTab(tabs);
  return (
    <Box component="nav" className={classes["tabs"]} aria-label="Page sections">
      {tabs.map((tab) => (
        <TabLink key={tab.to} {...tab} isHere={tab === here} />
      ))}
    </Box>
  );
}

function TabLink({ to, label, isHere }: Tab & { readonly isHere: boolean }) {
  return (
    <Anchor
      {...useLink(to)}
      underline="never"
      c={isHere ? undefined : "dimmed"}
      fw={isHere ? 600 : 400}
      px="sm"
      py={8}
      aria-current={isHere ? "page" : undefined}
      style={{
        whiteSpace: "nowrap",
        marginBottom: -1,
        borderBottom: isHere ? "2px solid var(--mantine-primary-color-filled)" : "2px solid transparent",
      }}
    >
      {label}
    </Anchor>
  );
}

export const isWithin = (pathname: string, to: string): boolean => {
  const path = pathname.replace(/\/$/, "");
  return path === to || path.startsWith(`${to}/`);
};
