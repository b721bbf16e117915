/** Ctrl-K: any project, workspace, team or person of the organization, and the places. The server searches. */
import { Box, Modal, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { askingOn, organization as organizationQuery } from "./api/queries.ts";
import { paths } from "./paths.ts";
import { placesOf, type Rights } from "./places.ts";
import classes from "./palette.module.css";
import { useGo } from "./ui/link.tsx";

const each = 6;

interface PaletteProps {
  readonly organization: string;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function Palette({ organization, opened, onClose }: PaletteProps) {
  return (
    // At once: one that fades would still have what was typed before when it is opened again.
    <Modal.Root opened={opened} onClose={onClose} size={600} yOffset={80} transitionProps={{ duration: 0 }}>
      <Modal.Overlay />
      <Modal.Content aria-label="Find anything">
        <Modal.Body p={0}>
          <Finder organization={organization} onClose={onClose} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** A field and what was found, of which one is chosen: always the first, until the arrows choose another. */
function Finder({ organization, onClose }: Omit<PaletteProps, "opened">) {
  const [typed, setTyped] = useState("");
  const [text] = useDebouncedValue(typed.trim(), 120);
  const [picked, setPicked] = useState<string>();
  const { groups, isSearching: isAsking } = useFound(organization, text);
  const isSearching = isAsking || text !== typed.trim();
  const all = groups.flatMap(({ items }) => items);
  const at = Math.max(
    all.findIndex(({ id }) => id === picked),
    0,
  );
  const list = useId();
  const go = useGo();
  const open = ({ to }: Item) => {
    onClose();
    go(to);
  };
  // Whoever types a name and Enter at once means what is found by it, not what was there before.
  const isEager = useRef(false);
  useEffect(() => {
    if (!isEager.current || isSearching) return;
    isEager.current = false;
    if (all[at]) open(all[at]);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Enter: 0 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    if (step === 0 && isSearching) isEager.current = true;
    else if (step === 0 && all[at]) open(all[at]);
    if (step === 0 || all.length === 0) return;
    const next = all[(at + step + all.length) % all.length]!.id;
    setPicked(next);
    document.getElementById(`${list}${next}`)?.scrollIntoView({ block: "nearest" });
  };
  return (
    <>
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        className={classes["field"]}
        leftSection={<IconSearch size={16} />}
        placeholder="Find a project, workspace, team or person…"
        role="combobox"
        aria-label="Find anything"
        aria-expanded={all.length > 0}
        aria-controls={list}
        aria-activedescendant={all[at] && `${list}${all[at].id}`}
        aria-autocomplete="list"
        autoComplete="off"
        value={typed}
        onKeyDown={onKeyDown}
        onChange={({ currentTarget }) => {
          isEager.current = false;
          setTyped(currentTarget.value);
          setPicked(undefined);
        }}
      />
      <Options {...{ list, groups, open }} chosen={all[at]} onPick={setPicked} />
      {all.length === 0 && (
        <Text c="dimmed" fz="sm" p="md" role="status">
          {isSearching ? "Searching…" : "Nothing by this name that you may see"}
        </Text>
      )}
    </>
  );
}

interface OptionsProps {
  /** The id that it is known by to the field; those of its items begin with it. */
  readonly list: string;
  readonly groups: readonly Found[];
  readonly chosen: Item | undefined;
  readonly onPick: (id: string) => void;
  readonly open: (item: Item) => void;
}

function Options({ list, groups, chosen, onPick, open }: OptionsProps) {
  return (
    <div id={list} role="listbox" aria-label="What was found" className={classes["list"]}>
      {groups.map(({ group, items }) => (
        <div key={group} role="group" aria-label={group}>
          <Text aria-hidden fz="xs" fw={500} c="dimmed" px="sm" pt={8} pb={2}>
            {group}
          </Text>
          {items.map((item) => (
            <Box
              key={item.id}
              id={`${list}${item.id}`}
              role="option"
              aria-selected={item === chosen}
              className={classes["item"]}
              onMouseMove={() => onPick(item.id)}
              onClick={() => open(item)}
            >
              <span className={group === "Workspaces" ? "mono" : ""}>{item.label}</span>
              {item.about && item.about !== item.label && <span className={classes["about"]}>{item.about}</span>}
            </Box>
          ))}
        </div>
      ))}
    </div>
  );
}

interface Item {
  readonly id: string;
  readonly label: string;
  readonly to: string;
  readonly about?: string | undefined;
}

interface Found {
  readonly group: string;
  readonly items: readonly Item[];
}

function useFound(organization: string, text: string): { readonly groups: Found[]; readonly isSearching: boolean } {
  const enabled = text !== "";
  const path = { organization_name: organization };
  const size = { "page[size]": each };
  const workspaces = useQuery({
    ...askingOn("GET /organizations/{organization_name}/workspaces", {
      path,
      query: { "search[name]": text, include: "project", ...size },
    }),
    enabled,
  });
  const projects = useQuery({
    ...askingOn("GET /organizations/{organization_name}/projects", { path, query: { q: text, ...size } }),
    enabled,
  });
  const teams = useQuery({
    ...askingOn("GET /organizations/{organization_name}/teams", { path, query: { q: text, ...size } }),
    enabled,
  });
  const people = useQuery({
    ...askingOn("GET /organizations/{organization_name}/organization-memberships", {
      path,
      query: { q: text, include: "user", ...size },
    }),
    enabled,
  });
  const rights = useQuery(organizationQuery(organization)).data?.data.attributes.permissions;
  const places = goTo(organization, rights).filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()));
  if (!enabled) return { groups: [{ group: "Go to", items: places }], isSearching: false };
  const isSearching = [workspaces, projects, teams, people].some((query) => query.isLoading || query.isPlaceholderData);
  const named = (included: readonly any[] | undefined, type: string, id: string | undefined) =>
    included?.find((one) => one.type === type && one.id === id)?.attributes;
  const groups: Found[] = [
    {
      group: "Workspaces",
      items: (workspaces.data?.data ?? []).map(({ id, attributes: { name }, relationships: { project } }) => ({
        id,
        label: name,
        to: paths.workspace(organization, name),
        about: named(workspaces.data?.included, "projects", project?.data?.id)?.name,
      })),
    },
    {
      group: "Projects",
      items: (projects.data?.data ?? []).map(({ id, attributes: { name } }) => ({
        id,
        label: name,
        to: paths.project(organization, id),
      })),
    },
    {
      group: "Teams",
      items: (teams.data?.data ?? []).map(({ id, attributes: { name } }) => ({
        id,
        label: name,
        to: paths.team(organization, id),
      })),
    },
    {
      group: "People",
      items: (people.data?.data ?? []).flatMap(({ relationships, attributes: { email } }) => {
        const id = relationships.user?.data?.id;
        if (id === undefined) return [];
        const label = named(people.data?.included, "users", id)?.username || email;
        return [{ id, label, to: paths.person(organization, id), about: email }];
      }),
    },
    { group: "Go to", items: places },
  ];
  return { groups: groups.filter(({ items }) => items.length > 0), isSearching };
}

/** The places that the caller may see, and what is done on a page of its own. */
function goTo(organization: string, rights: Rights): Item[] {
  const doing: [string, string][] = [
    ["Grant access", paths.grant(organization)],
    ["Move workspaces", paths.move(organization)],
    ...(rights?.["can-manage-auditing"]
      ? [["Audit webhooks", paths.auditWebhooks(organization)] as [string, string]]
      : []),
    ...(rights?.["can-create-workspace"]
      ? [["New workspace", paths.newWorkspace(organization)] as [string, string]]
      : []),
  ];
  const places = placesOf(organization, rights).flatMap(([, some]) => some);
  return [...places, ...doing].map(([label, to]) => ({ id: `to${to}`.replaceAll(/\W/g, "-"), label, to }));
}
