/** The reach of a person in an organization. */
import { Reach } from "../../access/reach.tsx";
import { PersonFrame } from "../people/frame.tsx";

export default function PersonReachPage() {
  return (
    <PersonFrame>
      {({ organization, user }) => <Reach organization={organization} of={{ user: user.id }} />}
    </PersonFrame>
  );
}
