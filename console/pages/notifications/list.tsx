/** Notifications of a workspace, project or team, with their last results. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Section } from "../../ui/page.tsx";
import { Empty } from "../../components/states.tsx";
import { Dimmed } from "../../ui/text.tsx";
import { DeliveryTargetList } from "../../deliveries/list.tsx";
import { hostOf } from "../../deliveries/targets.tsx";
import { NotificationForm } from "./form.tsx";
import { destinationWords, notificationsOf, type Notification, type NotificationSubject, wordsOf } from "./words.ts";
import type { ApiError } from "../../api/errors.ts";
import type { CompleteList } from "../../api/queries.ts";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import { ProjectFrame } from "../projects/frame.tsx";
import { TeamFrame } from "../teams/frame.tsx";

const abouts = {
  workspace: "Who is notified about this workspace.",
  project: "Who is notified about the workspaces in this project.",
  team: "Who is notified about workspaces whose runs this team can read.",
};

export function Notifications({ subject }: { readonly subject: NotificationSubject }) {
  const [edited, setEdited] = useState<Notification | "new">();
  const query = useQuery<CompleteList<Notification>, ApiError>(notificationsOf[subject.kind](subject.id));
  const add = (
    <Button variant="default" onClick={() => setEdited("new")}>
      New notification
    </Button>
  );
  return (
    <Section title="Notifications" about={abouts[subject.kind]} actions={query.isSuccess && add}>
      <DeliveryTargetList
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

export function WorkspaceNotifications() {
  return (
    <WorkspaceFrame>
      {({ workspace }) => <Notifications subject={{ kind: "workspace", id: workspace.id }} />}
    </WorkspaceFrame>
  );
}

export function ProjectNotifications() {
  return (
    <ProjectFrame>{({ project }) => <Notifications subject={{ kind: "project", id: project.id }} />}</ProjectFrame>
  );
}

export function TeamNotifications() {
  return <TeamFrame>{({ team }) => <Notifications subject={{ kind: "team", id: team.id }} />}</TeamFrame>;
}
