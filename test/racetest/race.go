//go:build race

// Package racetest tells tests whether the race detector watches them.
package racetest

// Enabled says that the race detector watches the tests.
const Enabled = true
