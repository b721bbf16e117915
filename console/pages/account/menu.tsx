/** The account menu, with sign-out. */
import { Avatar, Menu, UnstyledButton } from "@mantine/core";
import { IconUser } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { apiQuery, account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useGo, prefix } from "../../ui/link.tsx";

export function AccountMenu() {
  const me = useQuery(account());
  const [opened, setOpened] = useState(false);
  const sessions = useQuery({ ...apiQuery("GET /sessions", {}), enabled: opened });
  const current = sessions.data?.data.find((session) => session.attributes.current);
  const go = useGo();
  const signOut = useAction("DELETE /sessions/{session_id}", { done: "Signed out.", after: leave });
  const name = me.data?.data.attributes.username ?? "";
  if (!me.data) return null;
  return (
    <Menu position="bottom-end" width={220} opened={opened} onChange={setOpened}>
      <Menu.Target>
        <UnstyledButton aria-label={`Account of ${name}`}>
          <Avatar size={28} radius="xl" color="accent">
            <IconUser size={16} />
          </Avatar>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Signed in as {name}</Menu.Label>
        <Menu.Item onClick={() => go(paths.account())}>Account, tokens and sessions</Menu.Item>
        {me.data.data.attributes["is-site-admin"] && (
          <Menu.Item onClick={() => go(paths.site())}>Site administration</Menu.Item>
        )}
        <Menu.Item onClick={() => go(paths.home())}>All organizations</Menu.Item>
        <Menu.Divider />
        <Menu.Item disabled={!current} onClick={() => current && signOut.mutate({ path: { session_id: current.id } })}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

interface Ended {
  readonly data?: { readonly attributes: { readonly "sign-out-url"?: string | null } };
}

export function leave(response: unknown): void {
  const there = (response as Ended).data?.attributes["sign-out-url"];
  window.location.assign(there ?? `${prefix}${paths.signIn()}`);
}
