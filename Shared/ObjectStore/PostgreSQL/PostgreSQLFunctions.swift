/// The SQL functions of a schema, which compute the same as SQLite's functions of these names, and further ones for
/// PostgreSQL alone.
enum PostgreSQLFunctions {
    static let all = [distance, inBox, inPolygon, wordScore, around, words]

    /// Functions of earlier releases, by their arguments.
    static let former = [
        "satchel_place(jsonb)", "satchel_distance(point, point)",
        "satchel_in_box(float8, float8, float8, float8, point)", "satchel_in_polygon(jsonb, point)",
    ]

    // MARK: Places

    // The first two are not STRICT, so that PostgreSQL can inline them; they return NULL for an object without a point
    // anyway. An inlined argument is evaluated at each of its uses.

    /// Radians between two points. The condition is needed because `least` ignores NULL.
    private static let distance = """
        CREATE OR REPLACE FUNCTION satchel_distance(
            a_latitude float8, a_longitude float8, b_latitude float8, b_longitude float8) RETURNS float8
            LANGUAGE sql IMMUTABLE AS $$
                SELECT CASE WHEN a_latitude - b_latitude + a_longitude - b_longitude IS NOT NULL THEN
                    2 * asin(sqrt(least(1, power(sin(radians((b_latitude - a_latitude) / 2)), 2)
                        + cos(radians(a_latitude)) * cos(radians(b_latitude))
                            * power(sin(radians((b_longitude - a_longitude) / 2)), 2)))) END
            $$
        """

    /// Compares the degrees from the western side to the east, from 0 up to 360, with the width. A pole has every
    /// longitude (`GeoBox`).
    private static let inBox = """
        CREATE OR REPLACE FUNCTION satchel_in_box(
            south float8, north float8, west float8, width float8, latitude float8, longitude float8) RETURNS boolean
            LANGUAGE sql IMMUTABLE AS $$
                SELECT latitude >= south AND latitude <= north AND (
                    width >= 360
                    OR CASE WHEN longitude - west >= 0
                        THEN longitude - west <= width OR (longitude - west >= 360 AND longitude - west - 360 <= width)
                        -- So near to the western side that the sum is rounded to a whole turn.
                        ELSE longitude - west + 360 <= width OR longitude - west + 360 >= 360 END
                    OR ((south <= -90 OR north >= 90) AND abs(latitude) = 90))
            $$
        """

    /// Implements the rules of `GeoPolygon`; the corners are pairs of latitude and longitude. OFFSET 0 prevents
    /// PostgreSQL from inlining each expression into those above it, where it would be evaluated once per use.
    private static let inPolygon = """
        CREATE OR REPLACE FUNCTION satchel_in_polygon(corners jsonb, latitude float8, longitude float8) RETURNS boolean
            LANGUAGE sql STABLE STRICT AS $$
                SELECT coalesce(bool_or(
                        CASE WHEN step = 0
                            THEN turn = 0 AND latitude >= least(west_latitude, east_latitude)
                                AND latitude <= greatest(west_latitude, east_latitude)
                        WHEN turn <= abs(step)
                            THEN west_latitude + (east_latitude - west_latitude) * (turn / abs(step)) = latitude END),
                        false)
                    -- Each edge has its western end, and the next one has the eastern.
                    OR (count(CASE WHEN turn < abs(step)
                            AND west_latitude + (east_latitude - west_latitude) * (turn / abs(step)) > latitude
                            THEN 1 END) % 2 = 1)
                        -- Whoever went round the whole globe went round a pole.
                        <> coalesce(abs(sum(step)) > 180 AND sum(start_latitude) > 0, false)
                FROM (
                    SELECT step, start_latitude, west_latitude, east_latitude,
                        CASE WHEN turn >= 360 THEN turn - 360 WHEN turn >= 0 THEN turn
                            WHEN turn + 360 < 360 THEN turn + 360 ELSE 0 END AS turn
                    FROM (
                        SELECT step, start_latitude,
                            CASE WHEN step < 0 THEN end_latitude ELSE start_latitude END AS west_latitude,
                            CASE WHEN step < 0 THEN start_latitude ELSE end_latitude END AS east_latitude,
                            longitude - CASE WHEN step < 0 THEN end_longitude ELSE start_longitude END AS turn
                        FROM (
                            SELECT start_latitude, start_longitude, end_latitude, end_longitude,
                                CASE WHEN abs(end_longitude - start_longitude) > 180
                                        AND abs(end_longitude - start_longitude) < 360
                                    THEN end_longitude - start_longitude - 360 * sign(end_longitude - start_longitude)
                                    ELSE end_longitude - start_longitude END AS step
                            FROM (
                                SELECT (corner->>0)::float8 AS start_latitude, (corner->>1)::float8 AS start_longitude,
                                    (corners->(place % jsonb_array_length(corners))::int->>0)::float8 AS end_latitude,
                                    (corners->(place % jsonb_array_length(corners))::int->>1)::float8 AS end_longitude
                                FROM jsonb_array_elements(corners) WITH ORDINALITY AS listed(corner, place)
                                OFFSET 0
                            ) edges
                            OFFSET 0
                        ) steps
                        OFFSET 0
                    ) sides
                    OFFSET 0
                ) turns
            $$
        """

    /// A box on the map around all points within an angle, with a margin for rounding.
    ///
    /// On the map, points are pairs of longitude and latitude. PostgreSQL has an index for this type without an
    /// extension; many servers do not let users install extensions. This function and `GeoBox.onMap` use the whole
    /// circle of latitude if an area contains a pole or touches 180 degrees, so that no point is missed there. The
    /// functions above then check the candidates.
    private static let around = """
        CREATE OR REPLACE FUNCTION satchel_around(center point, angle float8) RETURNS box
            LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
            DECLARE
                height float8 := degrees(least(angle, pi())) + 1e-7;
                width float8 := 360;
            BEGIN
                IF abs(center[1]) + height < 90 THEN
                    width := degrees(asin(least(1, sin(radians(height)) / cos(radians(center[1]))))) + 1e-4;
                END IF;
                IF abs(center[0]) + width >= 180 THEN
                    RETURN box(point(-180, center[1] - height), point(180, center[1] + height));
                END IF;
                RETURN box(point(center[0] - width, center[1] - height), point(center[0] + width, center[1] + height));
            END $$
        """
}
