/** The Ctrl-K palette: finds projects, workspaces, teams, people, pages and actions. */
import { Box, Modal, Text, TextInput, VisuallyHidden } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { useAction } from "./api/actions.ts";
import classes from "./palette.module.css";
import type { Workspace } from "./palette-actions.ts";
import { type PaletteItem, type ItemGroup, useSearch } from "./palette-search.ts";
import { useGo } from "./ui/link.tsx";
import { Name } from "./ui/text.tsx";

interface PaletteProps {
  readonly organization: string;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function Palette({ organization, opened, onClose }: PaletteProps) {
  return (
    // A fading palette would still show the old text when it is reopened.
    <Modal.Root opened={opened} onClose={onClose} size={600} yOffset={80} transitionProps={{ duration: 0 }}>
      <Modal.Overlay />
      <Modal.Content aria-label="Find anything" className={classes["content"] ?? ""}>
        <Modal.Body p={0}>
          <Finder organization={organization} onClose={onClose} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function useOpen(onClose: () => void): (item: PaletteItem) => void {
  const go = useGo();
  const unlock = useAction("POST /workspaces/{workspace_id}/actions/unlock", {
    done: ({ data }) => `Unlocked ${data.attributes.name}.`,
  });
  return ({ action, workspace }) => {
    onClose();
    if ("to" in action) go(action.to);
    else if (workspace) unlock.mutate({ path: { workspace_id: workspace.id } });
  };
}

const hasActions = (item: PaletteItem | undefined): item is PaletteItem & { readonly workspace: Workspace } =>
  item?.workspace !== undefined && item.id === item.workspace.id;

function Finder({ organization, onClose }: Omit<PaletteProps, "opened">) {
  const [typed, setTyped] = useState("");
  const [text] = useDebouncedValue(typed.trim(), 120);
  const [picked, setPicked] = useState<string>();
  const [scope, setScope] = useState<Workspace>();
  const { groups, isSearching: isAsking } = useSearch(organization, scope ? typed.trim() : text, scope);
  const isSearching = isAsking || (scope === undefined && text !== typed.trim());
  const all = groups.flatMap(({ items }) => items);
  const at = Math.max(
    all.findIndex(({ id }) => id === picked),
    0,
  );
  const list = useId();
  const open = useOpen(onClose);
  const type = (value: string) => {
    setTyped(value);
    setPicked(undefined);
  };
  const enter = (workspace: Workspace | undefined) => {
    setScope(workspace);
    type("");
  };
  // Enter right after typing applies to the results of the new text.
  const isEager = useRef(false);
  useEffect(() => {
    if (!isEager.current || isSearching) return;
    isEager.current = false;
    if (all[at]) open(all[at]);
  });
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const { selectionStart, value } = event.currentTarget;
    const chosen = all[at];
    const isForward =
      event.key === "Tab" ? !event.shiftKey : event.key === "ArrowRight" && selectionStart === value.length;
    if (isForward && !isSearching && hasActions(chosen)) {
      event.preventDefault();
      return enter(chosen.workspace);
    }
    if (event.key === "Backspace" && scope && value === "") return enter(undefined);
    if (event.key === "Enter") {
      event.preventDefault();
      if (isSearching) isEager.current = true;
      else if (chosen) open(chosen);
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || all.length === 0) return;
    event.preventDefault();
    const next = all[(at + step + all.length) % all.length]!.id;
    setPicked(next);
    document.getElementById(`${list}${next}`)?.scrollIntoView({ block: "nearest" });
  };
  return (
    <>
      <Field
        {...{ list, scope, typed, onKeyDown }}
        chosen={all[at]}
        onLeave={() => enter(undefined)}
        onType={(value) => {
          isEager.current = false;
          type(value);
        }}
      />
      <Options {...{ list, groups, open }} chosen={all[at]} onPick={setPicked} onEnter={enter} />
      {all.length === 0 && (
        <Text c="dimmed" fz="sm" p="md" role="status" className="wrapped">
          {isSearching ? "Searching…" : `No results for "${typed.trim()}"`}
        </Text>
      )}
      <Text c="dimmed" fz="xs" className={classes["hint"] ?? ""} id={`${list}hint`}>
        {scope ? "Backspace goes back to the search." : "Enter opens. Tab shows the actions of a workspace."}
      </Text>
    </>
  );
}

interface FieldProps {
  readonly list: string;
  readonly scope: Workspace | undefined;
  readonly typed: string;
  readonly chosen: PaletteItem | undefined;
  readonly onKeyDown: (event: KeyboardEvent<HTMLInputElement>) => void;
  readonly onType: (value: string) => void;
  readonly onLeave: () => void;
}

function Field({ list, scope, typed, chosen, onKeyDown, onType, onLeave }: FieldProps) {
  return (
    <Box className={classes["field"] ?? ""}>
      {scope && (
        <button type="button" className={classes["scope"]} tabIndex={-1} onClick={onLeave}>
          <Name>{scope.attributes.name}</Name>
          <VisuallyHidden>: back to search</VisuallyHidden>
        </button>
      )}
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        flex={1}
        leftSection={scope ? undefined : <IconSearch size={16} />}
        placeholder={scope ? "Search actions…" : "Search or run an action…"}
        role="combobox"
        aria-label={scope ? `Actions for ${scope.attributes.name}` : "Find anything"}
        aria-expanded={chosen !== undefined}
        aria-controls={list}
        aria-activedescendant={chosen && `${list}${chosen.id}`}
        aria-describedby={`${list}hint`}
        aria-autocomplete="list"
        autoComplete="off"
        value={typed}
        onKeyDown={onKeyDown}
        onChange={({ currentTarget }) => onType(currentTarget.value)}
      />
    </Box>
  );
}

interface OptionsProps {
  readonly list: string;
  readonly groups: readonly ItemGroup[];
  readonly chosen: PaletteItem | undefined;
  readonly onPick: (id: string) => void;
  readonly open: (item: PaletteItem) => void;
  readonly onEnter: (workspace: Workspace) => void;
}

function Options({ list, groups, chosen, onPick, open, onEnter }: OptionsProps) {
  return (
    <div id={list} role="listbox" aria-label="Results" className={classes["list"]}>
      {groups.map(({ group, isOfWorkspace = false, items }) => (
        <div key={`${isOfWorkspace} ${group}`} role="group" aria-label={group}>
          <Text aria-hidden fz="xs" fw={500} c="dimmed" px="sm" pt={8} pb={2} className="wrapped">
            {group}
          </Text>
          {items.map((item) => (
            <Box
              key={item.id}
              id={`${list}${item.id}`}
              role="option"
              aria-selected={item === chosen}
              className={classes["item"] ?? ""}
              onMouseMove={() => onPick(item.id)}
              onClick={() => open(item)}
            >
              {group === "Workspaces" && !isOfWorkspace ? <Name>{item.label}</Name> : <span>{item.label}</span>}
              <Beside item={item} onEnter={onEnter} />
            </Box>
          ))}
        </div>
      ))}
    </div>
  );
}

function Beside({ item, onEnter }: { readonly item: PaletteItem; readonly onEnter: OptionsProps["onEnter"] }) {
  return (
    <span className={classes["beside"]}>
      {item.about && item.about !== item.label && (
        <span className={classes["about"]}>
          <Name isPlain>{item.about}</Name>
        </span>
      )}
      {/* For mouse and touch; the keyboard has Tab. */}
      {hasActions(item) && (
        <span
          aria-hidden
          className={classes["enter"]}
          onClick={(event) => {
            event.stopPropagation();
            onEnter(item.workspace);
          }}
        >
          Actions ›
        </span>
      )}
    </span>
  );
}
