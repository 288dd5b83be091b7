package redisconn

import "strings"

// slotCount is the number of slots of a cluster.
const slotCount = 16384

// crcTable holds the CRC-16 of every byte, by the polynomial of XMODEM.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}()

// slotOf returns the slot of key: that of what is between its first { and the next }, if something is.
func slotOf(key string) int {
	if _, tail, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(tail, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return int(crc % slotCount)
}
