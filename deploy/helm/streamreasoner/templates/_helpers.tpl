{{- define "streamreasoner.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "streamreasoner.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "streamreasoner.selector" -}}
app.kubernetes.io/name: streamreasoner
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "streamreasoner.labels" -}}
{{ include "streamreasoner.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* A value in TOML. JSON's strings, numbers and booleans are valid TOML; its maps are not. */}}
{{- define "streamreasoner.toml" -}}
{{- if kindIs "map" . -}}
{ {{- $comma := "" -}}
{{- range $key, $value := . -}}
{{ $comma }} {{ $key | quote }} = {{ include "streamreasoner.toml" $value }}
{{- $comma = "," -}}
{{- end }} }
{{- else if kindIs "slice" . -}}
[ {{- $comma := "" -}}
{{- range . -}}
{{ $comma }}{{ include "streamreasoner.toml" . }}
{{- $comma = ", " -}}
{{- end -}} ]
{{- else -}}
{{ toJson . }}
{{- end -}}
{{- end -}}

{{/* Spark's options that follow from the objects of the release. */}}
{{- define "streamreasoner.sparkOptions" -}}
{{- $name := include "streamreasoner.name" . -}}
spark.master: k8s://https://kubernetes.default.svc
spark.kubernetes.namespace: {{ .Release.Namespace }}
spark.kubernetes.container.image: {{ include "streamreasoner.image" . }}
spark.kubernetes.executor.podTemplateFile: /etc/streamreasoner/executor.yml
spark.kubernetes.executor.podNamePrefix: {{ $name }}
# The driver's pod owns the executors, so they are deleted with it.
spark.kubernetes.driver.pod.name: {{ $name }}-0
spark.driver.host: {{ $name }}-pod
spark.driver.bindAddress: 0.0.0.0
spark.driver.port: 7078
spark.driver.blockManager.port: 7079
{{- end -}}
