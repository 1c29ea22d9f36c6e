{{- define "cdckit.fullname" -}}
{{- $release := .root.Release.Name | trunc 20 | trimSuffix "-" -}}
{{- printf "%s-%s" $release .name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "cdckit.release" -}}
app.kubernetes.io/name: cdckit
app.kubernetes.io/part-of: {{ .Release.Name }}
{{- end -}}

{{- define "cdckit.selector" -}}
{{ include "cdckit.release" .root }}
app.kubernetes.io/instance: {{ .name }}
{{- end -}}

{{- define "cdckit.labels" -}}
{{ include "cdckit.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}
