/** Notifications of a workspace, of a project's workspaces, or of those that a team can read, with their last results. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { askingWhole } from "../../api/whole.ts";
import { Section } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";
import { Dimmed } from "../../ui/text.tsx";
import { ToldList } from "../../deliveries/list.tsx";
import { hostOf } from "../../deliveries/told.tsx";
import { NotificationForm } from "./form.tsx";
import { destinationWords, type Notification, type Subject, wordsOf } from "./words.ts";

const abouts = {
  workspace: "Who is notified about this workspace.",
  project: "Who is notified about the workspaces in this project.",
  team: "Who is notified about workspaces whose runs this team can read.",
};

const queryOf = ({ kind, id }: Subject) =>
  askingWhole(
    `GET /${kind}s/{${kind}_id}/notification-configurations` as "GET /teams/{team_id}/notification-configurations",
    {
      path: { [`${kind}_id`]: id } as never,
    },
  );

export function Notifications({ subject }: { readonly subject: Subject }) {
  const [edited, setEdited] = useState<Notification | "new">();
  const query = useQuery(queryOf(subject));
  const add = (
    <Button variant="default" onClick={() => setEdited("new")}>
      New notification
    </Button>
  );
  return (
    <Section title="Notifications" about={abouts[subject.kind]} actions={query.isSuccess && add}>
      <ToldList
        by="notification-configurations"
        label="Notifications"
        query={query}
        empty={
          <Empty title="No notifications yet">
            Notify a chat, a mailbox or a service when a run needs confirmation, finishes or fails.
          </Empty>
        }
        columns={[
          { title: "Destination", cell: (row) => <Where notification={row} /> },
          { title: "Events", isExtra: true, cell: ({ attributes }) => wordsOf(attributes.triggers) },
        ]}
        triedOf={({ attributes }) => (attributes["destination-type"] === "email" ? "Sent a test email." : undefined)}
        edited={edited}
        onEdit={setEdited}
        form={(known, onClose) => <NotificationForm {...{ subject, known, onClose }} />}
      />
    </Section>
  );
}

function Where({ notification: { attributes, relationships } }: { readonly notification: Notification }) {
  const { "destination-type": type, url, "email-addresses": addresses } = attributes;
  if (type !== "email")
    return (
      <>
        {hostOf(url)} <Dimmed>{type === "generic" ? "" : destinationWords(type)}</Dimmed>
      </>
    );
  const count = (addresses?.length ?? 0) + (relationships.users?.data?.length ?? 0);
  return (
    <>
      {count === 0 ? "Email" : `Email to ${addresses?.[0] ?? "a member"}${count > 1 ? ` and ${count - 1} more` : ""}`}
    </>
  );
}
