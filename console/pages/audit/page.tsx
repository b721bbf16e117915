/** Everything that was changed in the organization: who, what, when, before and after. */
import { useParams } from "@tanstack/react-router";
import { AuditFrame } from "./frame.tsx";
import { AuditTrail } from "./trail.tsx";

export default function AuditPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  return (
    <AuditFrame about="Every change, in the moment in which it was made. It can't be edited or removed.">
      <AuditTrail organization={organization} />
    </AuditFrame>
  );
}
