/** Systems of the organization's own that are told of what is in its trail, as it happens; and what came of it. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { organization as organizationQuery } from "../../api/queries.ts";
import { askingWhole } from "../../api/whole.ts";
import { Empty } from "../../ui/states.tsx";
import { AuditFrame } from "../audit/frame.tsx";
import { ToldList } from "../../deliveries/list.tsx";
import { hostOf } from "../../deliveries/told.tsx";
import { WebhookForm } from "./form.tsx";
import { wordsOf, type Webhook } from "./words.ts";

export default function AuditWebhooksPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const [edited, setEdited] = useState<Webhook | "new">();
  const may = useQuery(organizationQuery(organization)).data?.data.attributes.permissions["can-manage-auditing"];
  const query = useQuery(
    askingWhole("GET /organizations/{organization_name}/audit-webhooks", { path: { organization_name: organization } }),
  );
  return (
    <AuditFrame
      about="Systems of your own that are told of changes as they are made: who may do what now, locks that are held for too long, or everything."
      actions={may && <Button onClick={() => setEdited("new")}>New webhook</Button>}
    >
      <ToldList
        by="audit-webhooks"
        label="Webhooks of the trail"
        query={query}
        empty={
          <Empty title="Nobody is told of the trail yet">
            Have your chat, your ticket system or your SIEM told when access changes, in the moment in which it does.
          </Empty>
        }
        columns={[
          { title: "To", isExtra: true, cell: ({ attributes }) => hostOf(attributes.url) },
          { title: "Of what", isExtra: true, cell: ({ attributes }) => wordsOf(attributes.events) },
        ]}
        edited={edited}
        onEdit={setEdited}
        form={(known, onClose) => <WebhookForm {...{ organization, known, onClose }} />}
      />
    </AuditFrame>
  );
}
