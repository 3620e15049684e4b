// Package plugin reads Argo CD's ConfigManagementPlugin files, and finds out which
// plugin a folder is for
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/config-management-plugins/).
package plugin
