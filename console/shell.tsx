/** The shell around every page: navigation, search, theme and account. `index.html` draws its outline first. */
import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Button,
  Group,
  Kbd,
  ScrollArea,
  Text,
  Tooltip,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { IconMoon, IconSearch, IconSun } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useLocation, useParams, type ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { TakenAccess } from "./access/taken-access.tsx";
import { organization as organizationQuery, useRights } from "./api/queries.ts";
import { RequestCount } from "./components/request-count.tsx";
import { ShowAsApi } from "./components/show-as-api.tsx";
import { isUnreachable } from "./api/connection.ts";
import { AccountMenu } from "./pages/account/menu.tsx";
import { PageFailed } from "./pages/failed.tsx";
import { Keys } from "./keys.tsx";
import { Palette } from "./palette.tsx";
import { paths } from "./paths.ts";
import { navigationOf } from "./navigation.ts";
import { Arrival, contentId, Progress } from "./ui/arrival.tsx";
import { Link, NavigationLink, isWithin } from "./ui/link.tsx";
import { OrganizationSwitcher } from "./pages/organizations/switcher.tsx";

export const Shell = () => (
  <Frame>
    <Outlet />
  </Frame>
);

export const ShellFailed = (props: ErrorComponentProps) => (
  <Frame>
    <PageFailed {...props} />
  </Frame>
);

function Frame({ children }: { readonly children: ReactNode }) {
  const organization = useCurrentOrganization();
  const [isOpen, { toggle, close }] = useDisclosure();
  const [isFinding, finding] = useDisclosure();
  const { pathname } = useLocation();
  useEffect(close, [pathname, close]);
  // Also while a field has the focus.
  useHotkeys([["mod+K", finding.open]], []);
  return (
    <AppShell
      header={{ height: 48 }}
      {...(organization && { navbar: { width: 208, breakpoint: "sm", collapsed: { mobile: !isOpen } } })}
      padding="md"
    >
      <AppShell.Header px="md">
        <a className="skip-link" href={`#${contentId}`}>
          Skip to content
        </a>
        <Group h="100%" gap="sm" wrap="nowrap">
          {organization && (
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
          )}
          <Link to={paths.home()} underline="never" c="inherit" aria-label="Cadastre: all organizations">
            <Group gap={8} wrap="nowrap">
              <img src="/app/icon.svg" width={22} height={22} alt="Cadastre" />
              <Text fw={650} visibleFrom="xs" aria-hidden>
                Cadastre
              </Text>
            </Group>
          </Link>
          {organization && <OrganizationSwitcher organization={organization} />}
          <Box flex={1} />
          {organization && <SearchButton onFind={finding.open} />}
          <ShowAsApi />
          <SchemeButton />
          <AccountMenu />
        </Group>
      </AppShell.Header>
      {organization && (
        <AppShell.Navbar>
          <ScrollArea p="xs">
            <Navigation organization={organization} />
          </ScrollArea>
        </AppShell.Navbar>
      )}
      <AppShell.Main id={contentId} tabIndex={-1}>
        <Box maw="84rem" mx="auto">
          {organization && <TakenAccess key={organization} organization={organization} />}
          {children}
        </Box>
      </AppShell.Main>
      {organization && <Palette organization={organization} opened={isFinding} onClose={finding.close} />}
      <Keys />
      <Progress />
      <Arrival />
    </AppShell>
  );
}

function useCurrentOrganization(): string | undefined {
  const organization = useParams({ from: "/inside/$organization", shouldThrow: false })?.organization;
  const { error } = useQuery({ ...organizationQuery(organization ?? ""), enabled: organization !== undefined });
  return error === null || isUnreachable(error) ? organization : undefined;
}

function Navigation({ organization }: { readonly organization: string }) {
  const { pathname } = useLocation();
  const rights = useRights(organization);
  const isHere = (to: string) =>
    to === paths.organization(organization) ? pathname.replace(/\/$/, "") === to : isWithin(pathname, to);
  return (
    <nav aria-label="Organization">
      {navigationOf(organization, rights).map(([title, places]) => (
        <Box key={title} mb="sm">
          <Text fz="xs" c="dimmed" px="xs" mb={2} fw={500}>
            {title}
          </Text>
          {places.map(([label, to]) => (
            <NavigationLink
              key={to}
              to={to}
              label={label}
              rightSection={to === paths.accessRequests(organization) && <RequestCount organization={organization} />}
              active={isHere(to)}
              aria-current={isHere(to) ? "page" : undefined}
              py={5}
              px="xs"
              style={{ borderRadius: "var(--mantine-radius-sm)" }}
            />
          ))}
        </Box>
      ))}
    </nav>
  );
}

function SearchButton({ onFind }: { readonly onFind: () => void }) {
  return (
    <>
      <Button
        variant="default"
        c="dimmed"
        fw={400}
        onClick={onFind}
        leftSection={<IconSearch size={14} />}
        rightSection={<Kbd size="xs">Ctrl K</Kbd>}
        visibleFrom="sm"
      >
        Search
      </Button>
      <ActionIcon variant="default" onClick={onFind} hiddenFrom="sm" aria-label="Search" size="lg">
        <IconSearch size={16} />
      </ActionIcon>
    </>
  );
}

function SchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const isDark =
    colorScheme === "dark" || (colorScheme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  const label = isDark ? "Switch to light theme" : "Switch to dark theme";
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => setColorScheme(isDark ? "light" : "dark")}
      >
        {isDark ? <IconSun size={16} /> : <IconMoon size={16} />}
      </ActionIcon>
    </Tooltip>
  );
}
