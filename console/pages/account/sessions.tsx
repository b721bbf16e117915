/** Where one is signed in, and the way out of one place or all. */
import { Badge, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { Expires, When } from "../../ui/text.tsx";
import { Section } from "../../ui/page.tsx";
import { Asked } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { leave } from "./menu.tsx";
import { sessions as sessionsQuery } from "../../api/detail-queries.ts";

export function Sessions() {
  const sessions = useQuery(sessionsQuery());
  const end = useAction("DELETE /sessions/{session_id}", { done: "Session ended." });
  const endAll = useAction("DELETE /sessions", { done: "Signed out everywhere.", after: leave });
  return (
    <Section
      title="Sessions"
      about="Browsers in which you are signed in."
      actions={
        <DangerButton
          verb="Sign out everywhere"
          title="Sign out everywhere?"
          onConfirm={() => endAll.mutate({})}
          isBusy={endAll.isPending}
        >
          This ends all your sessions, including this one. Your tokens keep working.
        </DangerButton>
      }
    >
      <Asked query={sessions}>
        {({ data }) => (
          <Table
            label="Your sessions"
            rows={data}
            keyOf={({ id }) => id}
            columns={[
              {
                title: "Browser",
                cell: ({ attributes }) => (
                  <Group gap="xs">
                    <span title={attributes["user-agent"] ?? undefined}>{browserIn(attributes["user-agent"])}</span>
                    {attributes.current && <Badge>this browser</Badge>}
                  </Group>
                ),
              },
              {
                title: "Last used",
                cell: ({ attributes }) => <When time={attributes["last-used-at"]} none="just now" />,
              },
              { title: "Signed in", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
              {
                title: "Expires",
                isExtra: true,
                cell: ({ attributes }) => <Expires time={attributes["expires-at"]} />,
              },
              {
                title: "Actions",
                width: 1,
                cell: ({ id, attributes }) =>
                  !attributes.current && (
                    <DangerButton
                      isQuiet
                      verb="End session"
                      label={`End session of ${browserIn(attributes["user-agent"])}`}
                      title="End this session?"
                      onConfirm={() => end.mutate({ path: { session_id: id } })}
                    >
                      That browser has to sign in again.
                    </DangerButton>
                  ),
              },
            ]}
          />
        )}
      </Asked>
    </Section>
  );
}

const browsers = ["Edg", "OPR", "Firefox", "Chrome", "Safari"];
const systems = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"];

/** "Firefox on Linux", of what a browser calls itself; all of it where that is not known. */
function browserIn(agent: string | null): string {
  if (agent === null) return "Unknown browser";
  const browser = browsers.find((name) => agent.includes(name));
  const system = systems.find((name) => agent.includes(name));
  return browser === undefined ? agent : [browser, system && `on ${system}`].filter(Boolean).join(" ");
}
