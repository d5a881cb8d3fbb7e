package audit

const openFlags = 0
