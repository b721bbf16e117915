/** Audit webhooks: external systems that receive the organization's audit events. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useRights } from "../../api/queries.ts";
import { Empty } from "../../components/states.tsx";
import { AuditFrame } from "../audit/frame.tsx";
import { DeliveryTargetList } from "../../deliveries/list.tsx";
import { hostOf } from "../../deliveries/targets.tsx";
import { WebhookForm, wordsOf, type Webhook } from "./form.tsx";
import { auditWebhooks } from "../../api/list-queries.ts";

export default function AuditWebhooksPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [edited, setEdited] = useState<Webhook | "new">();
  const may = useRights(organization)?.["can-manage-auditing"];
  const query = useQuery(auditWebhooks(organization));
  return (
    <AuditFrame
      about="Send changes to your own systems as they happen: access changes, long-held locks, or everything."
      actions={may && <Button onClick={() => setEdited("new")}>New webhook</Button>}
    >
      <DeliveryTargetList
        by="audit-webhooks"
        label="Audit webhooks"
        query={query}
        empty={
          <Empty title="No webhooks yet">Notify your chat, ticket system or SIEM as soon as access changes.</Empty>
        }
        columns={[
          { title: "Host", isExtra: true, cell: ({ attributes }) => hostOf(attributes.url) },
          { title: "Events", isExtra: true, cell: ({ attributes }) => wordsOf(attributes.events) },
        ]}
        edited={edited}
        onEdit={setEdited}
        form={(known, onClose) => <WebhookForm {...{ organization, known, onClose }} />}
      />
    </AuditFrame>
  );
}
