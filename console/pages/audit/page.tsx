/** The audit log of an organization. */
import { useParams } from "@tanstack/react-router";
import { AuditFrame } from "./frame.tsx";
import { AuditTrail } from "./trail.tsx";

export default function AuditPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  return (
    <AuditFrame about="Append-only log of every change.">
      <AuditTrail organization={organization} />
    </AuditFrame>
  );
}
