//go:build !race

// Package racetest tells tests whether the race detector watches them.
package racetest

// Enabled says that the race detector does not watch the tests.
const Enabled = false
