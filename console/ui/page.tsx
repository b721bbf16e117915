/** The frame of a page: breadcrumbs, title and actions. */
import { Breadcrumbs, Group, Stack, Text, Title, Box } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { type ReactNode, Fragment } from "react";
import { Link, PageTabs, useCurrentTabLabel, type Tab } from "./link.tsx";
import { Name } from "./text.tsx";
import classes from "./description-list.module.css";

export interface Crumb {
  readonly label: string;
  readonly to: string;
}

export interface PageProps {
  readonly title: string;
  readonly crumbs?: readonly Crumb[];
  readonly beside?: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly tabs?: readonly Tab[];
  readonly part?: string | undefined;
  readonly children: ReactNode;
}

export function Page({ title, crumbs = [], beside, about, actions, tabs, part, children }: PageProps) {
  const here = useCurrentTabLabel(tabs);
  const names = [part ?? here, title, ...crumbs.map(({ label }) => label).toReversed(), "Cadastre"];
  useDocumentTitle(names.filter((name) => name?.trim()).join(" · "));
  return (
    <Stack gap={0} component="article">
      {crumbs.length > 0 && (
        <Breadcrumbs component="nav" aria-label="Breadcrumbs" fz="sm" mb={4} separatorMargin={6}>
          {crumbs.map(({ label, to }) => (
            <Link key={to} to={to} c="dimmed">
              <Name isPlain>{label}</Name>
            </Link>
          ))}
        </Breadcrumbs>
      )}
      <Group justify="space-between" align="flex-start" mb="md" gap="sm">
        <Stack gap={2} miw="min(100%, 16rem)" flex={1}>
          <Group gap="sm">
            <Title order={1} style={{ overflowWrap: "anywhere" }}>
              {title}
            </Title>
            {beside}
          </Group>
          {about && (
            <Text c="dimmed" component="div" className="wrapped">
              {about}
            </Text>
          )}
        </Stack>
        {actions && (
          <Group gap="xs" maw="100%">
            {actions}
          </Group>
        )}
      </Group>
      {tabs && <PageTabs tabs={tabs} />}
      {children}
    </Stack>
  );
}

export function Section({
  title,
  about,
  actions,
  children,
}: Pick<PageProps, "title" | "about" | "actions"> & Partial<Pick<PageProps, "children">>) {
  return (
    <Stack gap="xs" mb="xl" component="section" aria-label={title}>
      <Group justify="space-between" align="baseline" gap="sm">
        <Title order={2}>{title}</Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {about && (
        <Text c="dimmed" fz="sm" maw="46rem" component="div">
          {about}
        </Text>
      )}
      {children}
    </Stack>
  );
}

/** Empty values of an object are omitted. */
export type DescriptionItems = Readonly<Record<string, ReactNode>> | readonly (readonly [string, ReactNode])[];

const isShown = (value: ReactNode) => value !== undefined && value !== null && value !== false && value !== "";

const listed = (items: DescriptionItems): readonly (readonly [string, ReactNode])[] =>
  Array.isArray(items) ? items : Object.entries(items).filter(([, value]) => isShown(value));

export function DescriptionList({ items, label }: { readonly items: DescriptionItems; readonly label?: string }) {
  return (
    <Box component="dl" className={classes["list"]} aria-label={label}>
      {listed(items).map(([name, value]) => (
        <Fragment key={name}>
          <Text component="dt" c="dimmed" fz="sm">
            {name}
          </Text>
          <Text component="dd" m={0} style={{ overflowWrap: "anywhere" }}>
            {value}
          </Text>
        </Fragment>
      ))}
    </Box>
  );
}
