/// The functions of a schema that decide what SQLite's own functions of these names decide.
enum PostgreSQLFunctions {
    static let all = places + words

    /// Places are points of longitude and latitude, for whose type PostgreSQL has an index without an extension: many
    /// servers let nobody install one. The index finds the places in a box of that map; `satchel_around` and
    /// `GeoBox.onMap` take the whole circle of latitude where an area has a pole or touches 180 degrees, so that
    /// nothing is missed there. What is found is decided by the same rules as in SQLite (`GeoBox`, `GeoPolygon`).
    private static let places = """
        CREATE OR REPLACE FUNCTION satchel_place(value jsonb) RETURNS point
            LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
            AS $$ SELECT point((value->>'longitude')::float8, (value->>'latitude')::float8) $$;

        -- Radians between two places.
        CREATE OR REPLACE FUNCTION satchel_distance(a point, b point) RETURNS float8
            LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
            AS $$ SELECT 2 * asin(sqrt(least(1, power(sin(radians((b[1] - a[1]) / 2)), 2)
                + cos(radians(a[1])) * cos(radians(b[1])) * power(sin(radians((b[0] - a[0]) / 2)), 2)))) $$;

        -- A box of the map around all places within an angle, with room for rounding.
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
            END $$;

        CREATE OR REPLACE FUNCTION satchel_in_box(
            south float8, north float8, west float8, width float8, place point) RETURNS boolean
            LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
            DECLARE
                turn float8 := place[0] - west;
            BEGIN
                IF turn < 0 THEN turn := turn + 360; END IF;
                IF turn >= 360 THEN turn := turn - 360; END IF;
                RETURN place[1] >= south AND place[1] <= north
                    AND (width >= 360 OR abs(place[1]) = 90 OR turn <= width);
            END $$;

        -- The corners are pairs of latitude and longitude.
        CREATE OR REPLACE FUNCTION satchel_in_polygon(corners jsonb, place point) RETURNS boolean
            LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
            DECLARE
                latitudes float8[] := ARRAY(SELECT (c->>0)::float8 FROM jsonb_array_elements(corners) c);
                longitudes float8[] := ARRAY(SELECT (c->>1)::float8 FROM jsonb_array_elements(corners) c);
                corner_count int := cardinality(latitudes);
                is_inside boolean := false;
                turned float8 := 0;
                northern float8 := 0;
                following int;
                west int;
                east int;
                step float8;
                turn float8;
                edge float8;
            BEGIN
                FOR i IN 1..corner_count LOOP
                    following := i % corner_count + 1;
                    northern := northern + latitudes[i];
                    step := longitudes[following] - longitudes[i];
                    IF abs(step) > 180 AND abs(step) < 360 THEN step := step - 360 * sign(step); END IF;
                    turned := turned + step;
                    west := CASE WHEN step < 0 THEN following ELSE i END;
                    east := CASE WHEN step < 0 THEN i ELSE following END;
                    turn := place[0] - longitudes[west];
                    IF turn < 0 THEN turn := turn + 360; END IF;
                    IF turn >= 360 THEN turn := turn - 360; END IF;
                    IF step = 0 THEN
                        IF turn = 0 AND place[1] >= least(latitudes[west], latitudes[east])
                            AND place[1] <= greatest(latitudes[west], latitudes[east]) THEN
                            RETURN true;
                        END IF;
                    ELSIF turn <= abs(step) THEN
                        edge := latitudes[west] + (latitudes[east] - latitudes[west]) * (turn / abs(step));
                        IF edge = place[1] THEN RETURN true; END IF;
                        -- Each edge has its western end, and the next one has the eastern.
                        IF turn < abs(step) AND edge > place[1] THEN is_inside := NOT is_inside; END IF;
                    END IF;
                END LOOP;
                -- Whoever went round the whole globe went round a pole.
                RETURN is_inside <> (abs(turned) > 180 AND northern > 0);
            END $$;

        """
}
