// Package rowsecurity tells which tables have rows that Postgres hides from a role. It
// must not know what the tables hold.
package rowsecurity

import "fmt"

// HiddenSQL is a query for the names of the tables among those of a relation of names
// and privileges whose rows the current role does not all get, or may not all write:
// neither is an error to Postgres, so that a table looks empty. Row security is active
// for the role, and there is no policy without a condition for what the privilege is
// about, or one that restricts it. What conditions come to nobody knows before a row.
func HiddenSQL(relation string) string {
	return fmt.Sprintf(`
SELECT DISTINCT w.name
FROM %s w (name, privilege)
CROSS JOIN LATERAL (
    SELECT bool_or(p.polpermissive AND p.always) AND bool_and(p.polpermissive OR p.always) AS free
    FROM (
        SELECT p.polpermissive,
            coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') = 'true'
            AND coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'true') = 'true' AS always
        FROM pg_policy p
        WHERE p.polrelid = to_regclass(w.name)
          AND p.polcmd IN ('*', CASE w.privilege WHEN 'SELECT' THEN 'r' WHEN 'INSERT' THEN 'a' WHEN 'UPDATE' THEN 'w' ELSE 'd' END)
          AND EXISTS (SELECT FROM unnest(p.polroles) r (oid)
              WHERE CASE WHEN r.oid = 0 THEN true ELSE pg_has_role(r.oid, 'USAGE') END)) p) p
WHERE row_security_active(to_regclass(w.name)::oid) AND p.free IS NOT TRUE
ORDER BY 1`, relation)
}

// Remedy says what to do about such a table.
func Remedy(table string) string {
	return fmt.Sprintf("ALTER TABLE %s DISABLE ROW LEVEL SECURITY, or CREATE POLICY … ON %[1]s TO the role USING (true) WITH CHECK (true)", table)
}
