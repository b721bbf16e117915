// Command strict reads what `helm template` prints and decodes each object into the type that Kubernetes has for it: a field that is
// misspelled, in the wrong place or of the wrong type ends it with an error. It prints the objects as JSON, one in a line.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	reader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// serviceMonitor has what the chart uses of the Prometheus operator's type.
type serviceMonitor struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Selector  meta.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port          string `json:"port"`
			Path          string `json:"path"`
			Interval      string `json:"interval"`
			Authorization struct {
				Type        string                 `json:"type"`
				Credentials core.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// scaledJob has what the chart uses of KEDA's type.
type scaledJob struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		JobTargetRef               batch.JobSpec `json:"jobTargetRef"`
		PollingInterval            int32         `json:"pollingInterval"`
		MaxReplicaCount            int32         `json:"maxReplicaCount"`
		SuccessfulJobsHistoryLimit int32         `json:"successfulJobsHistoryLimit"`
		FailedJobsHistoryLimit     int32         `json:"failedJobsHistoryLimit"`
		Rollout                    struct {
			Strategy string `json:"strategy"`
		} `json:"rollout"`
		ScalingStrategy struct {
			Strategy string `json:"strategy"`
		} `json:"scalingStrategy"`
		Triggers []struct {
			Type              string            `json:"type"`
			Metadata          map[string]string `json:"metadata"`
			AuthenticationRef struct {
				Name string `json:"name"`
			} `json:"authenticationRef"`
		} `json:"triggers"`
	} `json:"spec"`
}

// triggerAuthentication has what the chart uses of KEDA's type.
type triggerAuthentication struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		SecretTargetRef []struct {
			Parameter string `json:"parameter"`
			Name      string `json:"name"`
			Key       string `json:"key"`
		} `json:"secretTargetRef"`
	} `json:"spec"`
}

var kinds = map[string]func() any{
	"apps/v1 Deployment":                      func() any { return &apps.Deployment{} },
	"v1 Service":                              func() any { return &core.Service{} },
	"v1 ServiceAccount":                       func() any { return &core.ServiceAccount{} },
	"v1 PersistentVolumeClaim":                func() any { return &core.PersistentVolumeClaim{} },
	"v1 Pod":                                  func() any { return &core.Pod{} },
	"networking.k8s.io/v1 Ingress":            func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &policy.PodDisruptionBudget{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &serviceMonitor{} },
	"batch/v1 Job":                            func() any { return &batch.Job{} },
	"keda.sh/v1alpha1 ScaledJob":              func() any { return &scaledJob{} },
	"keda.sh/v1alpha1 TriggerAuthentication":  func() any { return &triggerAuthentication{} },
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	documents := reader.NewYAMLReader(bufio.NewReader(in))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := decode(text, out); err != nil {
			return fmt.Errorf("%w in:\n%s", err, text)
		}
	}
}

func decode(text []byte, out io.Writer) error {
	var head meta.TypeMeta
	if err := yaml.Unmarshal(text, &head); err != nil {
		return err
	}
	if head.Kind == "" {
		return nil
	}
	fresh, known := kinds[head.APIVersion+" "+head.Kind]
	if !known {
		return fmt.Errorf("no type is known for %s %s", head.APIVersion, head.Kind)
	}
	object := fresh()
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(object)
}
