/** Offboarding a person: memberships, locks and tokens, each with its action. */
import { Offboarding } from "../../access/offboarding.tsx";
import { PersonFrame } from "../people/frame.tsx";

export default function LeavingPage() {
  return (
    <PersonFrame>
      {({ organization, user }) => (
        <Offboarding organization={organization} user={{ id: user.id, name: user.attributes.username }} />
      )}
    </PersonFrame>
  );
}
